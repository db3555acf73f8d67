package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	opa "github.com/open-policy-agent/opa/v1/bundle"

	"ostiary"
)

// Config says where a bundle comes from and who may have signed it.
type Config struct {
	// Location is a file, or an http or https URL. Required.
	Location string
	// KeyFile holds the PEM public key that signatures must fit. Required.
	KeyFile string
	// TokenFile holds a bearer token for the server; empty means none.
	TokenFile string
	// FloorFile remembers the highest serial that was in force, over restarts; empty means only until the end of the process.
	FloorFile string
}

// Source fetches one operator's bundle. It is safe for concurrent use.
type Source struct {
	cfg    Config
	key    *opa.VerificationConfig
	client *http.Client

	mu    sync.Mutex
	floor int64
	etag  string
	last  *Bundle // what etag stands for
}

const (
	fetchTimeout = 30 * time.Second
	decimal      = 10
)

// New returns a Source, or config_invalid when its key cannot be used.
func New(cfg Config) (*Source, error) {
	pem, err := os.ReadFile(cfg.KeyFile)
	if err != nil {
		return nil, invalid(err, "the bundle's key "+cfg.KeyFile+" cannot be read")
	}
	s := &Source{cfg: cfg, client: &http.Client{Timeout: fetchTimeout}}
	if s.key, err = verifier(pem); err != nil {
		return nil, invalid(err, "the bundle's key "+cfg.KeyFile+" cannot be used")
	}
	if s.floor, err = readFloor(cfg.FloorFile); err != nil {
		return nil, err
	}
	return s, nil
}

func invalid(err error, msg string) error {
	return ostiary.Wrap(ostiary.KindConfigInvalid, err, msg).WithFix("give --bundle-key the public half of the signing key: openssl ec -in KEY -pubout")
}

func readFloor(path string) (int64, error) {
	text, err := os.ReadFile(path)
	if path == "" || errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err == nil {
		var n int64
		if n, err = strconv.ParseInt(strings.TrimSpace(string(text)), decimal, 64); err == nil {
			return n, nil
		}
	}
	return 0, ostiary.Wrap(ostiary.KindConfigInvalid, err, "the highest serial of bundles, "+path+", cannot be read").WithFix("remove the file, if you are sure that nobody offers you an old bundle")
}

// Remote reports whether the bundle comes from a server, and has to be asked for.
func (s *Source) Remote() bool {
	return strings.HasPrefix(s.cfg.Location, "http://") || strings.HasPrefix(s.cfg.Location, "https://")
}

// Fetch returns the bundle as it is now. One that is unsigned, damaged, or older than what was in force is refused as policy_broken.
func (s *Source) Fetch(ctx context.Context) (*Bundle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.fetch(ctx)
	if err != nil {
		return nil, err
	}
	if b.Serial < s.floor {
		return nil, ostiary.Errorf(ostiary.KindPolicyBroken, "the bundle's serial is %d, and %d was in force already", b.Serial, s.floor).
			WithFix("build the bundle again with a higher metadata.serial in its .manifest")
	}
	return b, nil
}

func (s *Source) fetch(ctx context.Context) (*Bundle, error) {
	if !s.Remote() {
		packed, err := readFile(s.cfg.Location)
		if err != nil {
			return nil, ostiary.Wrap(ostiary.KindConfigInvalid, err, "the bundle "+s.cfg.Location+" cannot be read")
		}
		return read(packed, s.key)
	}
	packed, etag, err := s.get(ctx)
	if err != nil {
		return nil, ostiary.Wrap(ostiary.KindConfigInvalid, err, "the bundle server does not give the bundle").WithFix("look at the server, and at --bundle")
	}
	if packed == nil {
		return s.last, nil
	}
	b, err := read(packed, s.key)
	if err == nil {
		s.last, s.etag = b, etag
	}
	return b, err
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

func readAll(r io.Reader) ([]byte, error) {
	packed, err := io.ReadAll(io.LimitReader(r, maxPacked+1))
	if err == nil && len(packed) > maxPacked {
		err = fmt.Errorf("it is larger than %d MiB", maxPacked>>20)
	}
	return packed, err
}

// get asks the server; with no body when what it gave last still holds.
func (s *Source) get(ctx context.Context) (packed []byte, etag string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.cfg.Location, nil)
	if err != nil {
		return nil, "", err
	}
	if s.cfg.TokenFile != "" {
		token, err := os.ReadFile(s.cfg.TokenFile)
		if err != nil {
			return nil, "", err
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	if s.etag != "" {
		req.Header.Set("If-None-Match", s.etag)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified && s.last != nil:
		return nil, "", nil
	case resp.StatusCode != http.StatusOK:
		return nil, "", fmt.Errorf("it answers %s", resp.Status)
	}
	packed, err = readAll(resp.Body)
	return packed, resp.Header.Get("ETag"), err
}

// Keep remembers that a bundle is in force: an older one is refused from now on.
func (s *Source) Keep(b *Bundle) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.Serial <= s.floor {
		return nil
	}
	s.floor = b.Serial
	if s.cfg.FloorFile == "" {
		return nil
	}
	temporary := s.cfg.FloorFile + ".new"
	if err := os.WriteFile(temporary, strconv.AppendInt(nil, b.Serial, decimal), 0o600); err != nil {
		return fmt.Errorf("remember the serial of the bundle: %w", err)
	}
	return os.Rename(temporary, s.cfg.FloorFile)
}
