package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/enforce/wire"
)

// ErrUnreachable means that no sidecar answered, or none that can be believed. What was asked about must not run.
var ErrUnreachable = errors.New("no sidecar can be reached")

// Config says where the sidecar is.
type Config struct {
	// Socket is its Unix socket; required. The socket must belong to this user.
	Socket string
	// Token is sent when not empty; on the socket the sidecar otherwise knows the caller by uid.
	Token string
}

// Client calls one sidecar. It is safe for concurrent use.
type Client struct {
	token string
	http  *http.Client
}

// answerLimit bounds an answer, in bytes: a cleaned result with its findings.
const answerLimit = 32 << 20

// New returns a client of the sidecar behind a Unix socket. A socket that is missing or belongs to somebody else is ErrUnreachable.
func New(cfg Config) (*Client, error) {
	info, err := os.Stat(cfg.Socket)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() || info.Mode()&os.ModeSocket == 0 {
		return nil, fmt.Errorf("%w: %s is not a socket of this user", ErrUnreachable, cfg.Socket)
	}
	var d net.Dialer
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", cfg.Socket)
		},
		MaxIdleConns:    8,
		IdleConnTimeout: time.Minute,
	}
	return &Client{token: cfg.Token, http: &http.Client{Transport: transport}}, nil
}

// Find returns a client of the sidecar whose data directory or socket is given, by argument or by OSTIARY_DATA and OSTIARY_SOCKET, or of
// the one in defaultData. tokenFile names the credential to look for beside the socket.
func Find(data, defaultData, tokenFile string, getenv func(string) string) (*Client, error) {
	socket := ""
	if data == "" {
		socket, data = getenv("OSTIARY_SOCKET"), getenv("OSTIARY_DATA")
	}
	if data == "" {
		data = defaultData
		if socket != "" {
			data = filepath.Dir(socket)
		}
	}
	if socket == "" {
		socket = filepath.Join(data, "sidecar.sock")
	}
	token := getenv("OSTIARY_TOKEN")
	if token == "" {
		raw, err := os.ReadFile(filepath.Join(data, tokenFile))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		token = strings.TrimSpace(string(raw))
	}
	return New(Config{Socket: socket, Token: token})
}

// Decide asks whether a call may run.
func (c *Client) Decide(ctx context.Context, req wire.DecisionRequest) (wire.Decision, error) {
	var d wire.Decision
	return d, c.call(ctx, http.MethodPost, "/v1/decisions", req, &d)
}

// Review returns a review as it stands; with wait > 0 once it is ruled on, or when the time is up.
func (c *Client) Review(ctx context.Context, id string, wait time.Duration) (wire.Decision, error) {
	path := "/v1/reviews/" + url.PathEscape(id)
	if wait > 0 {
		path += "?wait=" + strconv.FormatInt(wait.Milliseconds(), 10) + "ms"
	}
	var d wire.Decision
	return d, c.call(ctx, http.MethodGet, path, nil, &d)
}

// Cancel withdraws an open question.
func (c *Client) Cancel(ctx context.Context, id string) (wire.Decision, error) {
	var d wire.Decision
	return d, c.call(ctx, http.MethodPost, "/v1/reviews/"+url.PathEscape(id)+"/cancel", struct{}{}, &d)
}

// Redeem uses up a permit, right before the call runs.
func (c *Client) Redeem(ctx context.Context, req wire.RedeemRequest) (wire.RedeemResponse, error) {
	var r wire.RedeemResponse
	return r, c.call(ctx, http.MethodPost, "/v1/permits/redeem", req, &r)
}

// Result reports what a tool returned and gets it back clean.
func (c *Client) Result(ctx context.Context, req wire.ResultRequest) (wire.ResultResponse, error) {
	var r wire.ResultResponse
	return r, c.call(ctx, http.MethodPost, "/v1/results", req, &r)
}

// Message tells the user's own words.
func (c *Client) Message(ctx context.Context, session string, m wire.MessageRequest) error {
	var ok map[string]bool
	return c.call(ctx, http.MethodPost, "/v1/sessions/"+url.PathEscape(session)+"/messages", m, &ok)
}

// call sends one request. A refusal is an [ostiary.Error] of the kind that the sidecar told; anything else is ErrUnreachable.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in, jsontext.PreserveRawStrings(true))
		if err != nil {
			return fmt.Errorf("client: request: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://sidecar"+path, body)
	if err != nil {
		return fmt.Errorf("client: request: %w", err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return readAnswer(resp.StatusCode, raw, out)
}

func readAnswer(status int, raw []byte, out any) error {
	if status != http.StatusOK {
		var p wire.Problem
		if err := json.Unmarshal(raw, &p); err != nil || p.Kind == "" {
			return fmt.Errorf("%w: status %d without a problem document", ErrUnreachable, status)
		}
		return &ostiary.Error{Kind: ostiary.Kind(p.Kind), Msg: p.Detail, Fix: p.Fix, Pointer: p.Pointer}
	}
	// Members that a newer sidecar adds are let through; one that is missing or mistyped is not.
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("%w: the answer cannot be read: %w", ErrUnreachable, err)
	}
	return nil
}
