package mcpproxy

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"ostiary/enforce/mcpproxy/rpc"
)

// fakeServer makes the test binary an MCP server that writes every frame it gets to the named file.
const fakeServer = "OSTIARY_FAKE_MCP_SERVER"

func TestMain(m *testing.M) {
	if log := os.Getenv(fakeServer); log != "" {
		os.Exit(serve(log))
	}
	if os.Getenv(library) != "" {
		os.Exit(serveLibrary())
	}
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// serve answers with what the params want it to say, or else by the tool's name, which says what the server does wrong.
func serve(log string) int {
	f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 9
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0
		}
		fmt.Fprint(f, line)
		m, err := rpc.Read([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil || !m.IsRequest() {
			continue
		}
		if code, ends := respond(string(m.Raw("id")), m); ends {
			return code
		}
	}
}

func respond(id string, m rpc.Message) (code int, ends bool) {
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	result := func(body string) { say(`{"result":%s,"jsonrpc":"2.0","id":%s}`, body, id) }
	name := ""
	if params, err := m.Child("params"); err == nil {
		name, _ = params.Text("name")
		if around := params.Raw("around"); around != nil { // members beside the id
			say(`{"id":%s,%s}`, id, around[1:len(around)-1])
			return 0, false
		}
		for _, member := range []string{"result", "error"} {
			if params.Has(member) {
				say(`{ "jsonrpc":"2.0","id":%s, "%s" : %s }`, id, member, params.Raw(member))
				return 0, false
			}
		}
	}
	switch m.Method {
	case "initialize":
		result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"Fake Server","version":"1"}}`)
		return 0, false
	case "tools/list":
		result(`{"tools":[{"name":"hinted","annotations":{"destructiveHint":true}},{"name":"bare"}]}`)
		return 0, false
	case "ping":
		result(`{}`)
		return 0, false
	}
	switch name {
	case "duplicate":
		say(`{"jsonrpc":"2.0","result":{"dirty orders":[],"dirty orders":[{"type":"text","text":"hidden"}]},"id":%s}`, id)
	case "huge":
		say(`{"result":{"content":[{"type":"text","text":"%s"}]},"jsonrpc":"2.0","id":%s}`, strings.Repeat("x", rpc.MaxFrame), id)
	case "fails":
		say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32050,"message":"dirty words","data":{"why":"dirty"}}}`, id)
	case "hangs":
	case "asks":
		say(`{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"odd" : 1.50}}`)
		result(`{"content":[]}`)
	case "unasked":
		say(`{"jsonrpc":"2.0","id":"held","result":{"content":[{"type":"text","text":"dirty"}]}}`)
		say(`{"jsonrpc":"2.0","id":9999,"result":{"content":[{"type":"text","text":"dirty"}]}}`)
		result(`{"content":[]}`)
	case "dies":
		return 7, true
	case "dirty":
		result(`{"_meta":{"k":1.0},"content":[{"type":"text","text":"dirty words"}],"structuredContent":{"t":"dirty"},"isError":false,"x":"\u0041"}`)
	default:
		result(`{ "content" : [{"type":"text","text":"r\u0061n"}] }`)
	}
	return 0, false
}
