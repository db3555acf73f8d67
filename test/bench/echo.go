package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
)

// echoCommand runs this program as the floor: a process of its own, as the sidecar is, since a client in the same process would be served
// without a switch between processes.
const echoCommand = "echo"

// serveEcho answers with the JSON that it read, and prints its URL first.
func serveEcho() error {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.POST("/echo", func(c *gin.Context) {
		var v map[string]any
		if err := c.ShouldBindJSON(&v); err != nil {
			c.Status(http.StatusBadRequest)
			return
		}
		c.JSON(http.StatusOK, v)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String() + "/echo")
	s := &http.Server{Handler: engine, ReadHeaderTimeout: time.Minute}
	return s.Serve(l)
}

// startEcho starts the floor.
func startEcho(ctx context.Context) (*peer, error) {
	cmd := exec.CommandContext(ctx, os.Args[0], echoCommand)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	return &peer{url: strings.TrimSpace(line), cmd: cmd}, err
}
