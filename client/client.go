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
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/enforce/wire"
	"ostiary/tool"
)

// ErrUnreachable means that no sidecar answered, or none that can be believed. What was asked about must not run.
var ErrUnreachable = errors.New("no sidecar can be reached")

// Config says where the sidecar is.
type Config struct {
	// Socket is its Unix socket; required. The socket must belong to this user.
	Socket string
	// Token is sent when not empty; on the socket the sidecar otherwise knows the caller by uid.
	Token string
	// TokenFile holds the token when Token is empty. It is read when it is needed: a sidecar that starts later writes it then.
	TokenFile string
}

// Client calls one sidecar. It is safe for concurrent use, and outlives restarts of the sidecar.
type Client struct {
	cfg   Config
	token atomic.Pointer[string]
	http  *http.Client
}

// answerLimit bounds an answer, in bytes: a cleaned result with its findings.
const answerLimit = 32 << 20

// New returns a client of the sidecar behind a Unix socket. Whether one is there shows when it is called.
func New(cfg Config) (*Client, error) {
	if cfg.Socket == "" {
		return nil, errors.New("client: Socket is required")
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, cfg.Socket) },
		// A burst of calls comes in one turn of the agent; its connections are kept for the next one.
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     time.Minute,
	}
	asIs := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the sidecar never redirects
	c := &Client{cfg: cfg, http: &http.Client{Transport: transport, CheckRedirect: asIs}}
	if cfg.Token != "" {
		c.token.Store(&cfg.Token)
	}
	return c, nil
}

// dial connects to the socket if it is this user's: nobody else may answer for the sidecar.
func dial(ctx context.Context, socket string) (net.Conn, error) {
	info, err := os.Stat(socket)
	if err != nil {
		return nil, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() || info.Mode()&os.ModeSocket == 0 {
		return nil, fmt.Errorf("%s is not a socket of this user", socket)
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", socket)
}

// Find returns a client of the sidecar whose data directory or socket is given, by argument or by OSTIARY_DATA and OSTIARY_SOCKET, or of
// the one in defaultData. tokenFile names the credential to look for in the data directory.
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
	return New(Config{Socket: socket, Token: getenv("OSTIARY_TOKEN"), TokenFile: filepath.Join(data, tokenFile)})
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Decide asks whether a call may run.
func (c *Client) Decide(ctx context.Context, req wire.DecisionRequest) (wire.Decision, error) {
	return c.decision(ctx, http.MethodPost, "/v1/decisions", req)
}

// Review returns a review as it stands; with wait > 0 once it is ruled on, or when the time is up.
func (c *Client) Review(ctx context.Context, id string, wait time.Duration) (wire.Decision, error) {
	path := "/v1/reviews/" + url.PathEscape(id)
	if wait > 0 {
		path += "?wait=" + strconv.FormatInt(wait.Milliseconds(), 10) + "ms"
	}
	return c.decision(ctx, http.MethodGet, path, nil)
}

// Cancel withdraws an open question.
func (c *Client) Cancel(ctx context.Context, id string) (wire.Decision, error) {
	return c.decision(ctx, http.MethodPost, "/v1/reviews/"+url.PathEscape(id)+"/cancel", struct{}{})
}

// Redeem uses up a permit, right before the call runs.
func (c *Client) Redeem(ctx context.Context, req wire.RedeemRequest) (wire.RedeemResponse, error) {
	var r wire.RedeemResponse
	if err := c.call(ctx, http.MethodPost, "/v1/permits/redeem", req, &r); err != nil {
		return wire.RedeemResponse{}, err
	}
	if !r.OK {
		return wire.RedeemResponse{}, fmt.Errorf("%w: the answer does not say that the permit is good", ErrUnreachable)
	}
	return r, nil
}

// Result reports what a tool returned and gets it back clean.
func (c *Client) Result(ctx context.Context, req wire.ResultRequest) (wire.ResultResponse, error) {
	return c.cleaned(ctx, "/v1/results", req)
}

// Sanitize has a text cleaned outside of any session: nothing is remembered of it.
func (c *Client) Sanitize(ctx context.Context, req wire.ResultRequest) (wire.ResultResponse, error) {
	return c.cleaned(ctx, "/v1/sanitize", req)
}

// cleaned sends a request that a cleaned result answers. One that rules nothing that is known here is no answer.
func (c *Client) cleaned(ctx context.Context, path string, req wire.ResultRequest) (wire.ResultResponse, error) {
	var r wire.ResultResponse
	if err := c.call(ctx, http.MethodPost, path, req, &r); err != nil {
		return wire.ResultResponse{}, err
	}
	if !slices.Contains([]string{"allow", "ask", "deny"}, r.Behavior) {
		return wire.ResultResponse{}, fmt.Errorf("%w: the answer rules nothing that is known here", ErrUnreachable)
	}
	return r, nil
}

// Visible asks which tools the agent may be shown.
func (c *Client) Visible(ctx context.Context, tools []tool.Name) (wire.ToolsResponse, error) {
	var r wire.ToolsResponse
	err := c.call(ctx, http.MethodPost, "/v1/tools:visible", wire.ToolsRequest{Tools: tools}, &r)
	return r, err
}

// Message tells the user's own words.
func (c *Client) Message(ctx context.Context, session string, m wire.MessageRequest) error {
	var ok map[string]bool
	return c.call(ctx, http.MethodPost, "/v1/sessions/"+url.PathEscape(session)+"/messages", m, &ok)
}

// decision sends a request that a decision answers. One without a behavior that is known here is no answer.
func (c *Client) decision(ctx context.Context, method, path string, in any) (wire.Decision, error) {
	var d wire.Decision
	if err := c.call(ctx, method, path, in, &d); err != nil {
		return wire.Decision{}, err
	}
	if !slices.Contains([]string{"allow", "ask", "deny", "passthrough"}, d.Behavior) {
		return wire.Decision{}, fmt.Errorf("%w: the answer decides nothing that is known here", ErrUnreachable)
	}
	return d, nil
}

// bearer returns the token, or "" as long as there is none.
func (c *Client) bearer() (string, error) {
	if t := c.token.Load(); t != nil {
		return *t, nil
	}
	if c.cfg.TokenFile == "" {
		return "", nil
	}
	raw, err := os.ReadFile(c.cfg.TokenFile)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(raw))
	c.token.Store(&token)
	return token, nil
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
	token, err := c.bearer()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
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
	// Members that a newer sidecar adds are let through; one that is mistyped or given twice is not.
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("%w: the answer cannot be read: %w", ErrUnreachable, err)
	}
	return nil
}
