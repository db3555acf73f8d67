//go:build !linux

package httpapi

import (
	"errors"
	"net"
	"os"
)

// peerUID is not known on this system: clients of the socket send a token.
func peerUID(net.Conn) (int, error) { return 0, errors.New("peer credentials are not supported here") }

func ownUID() int { return os.Getuid() }
