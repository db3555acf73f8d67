package datadir

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ostiary"
)

// Dir is an open data directory, held by this process alone until Close.
type Dir struct {
	path string
	lock *os.File
}

// Open creates the directory (mode 0700) and takes hold of it. A directory that is in use or cannot be written is refused as config_invalid
// with what to do.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, unwritable(path, err)
	}
	if err := makePrivate(path); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, unwritable(path, err)
	}
	// The kernel lets go of the lock when the process dies, however it dies.
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(lock.Name())
		closeErr := lock.Close()
		return nil, ostiary.Wrap(ostiary.KindConfigInvalid, errors.Join(err, closeErr), fmt.Sprintf("the data directory %s is in use by another sidecar (pid %s)", path, strings.TrimSpace(string(holder)))).
			WithFix("stop that one first, or start this one with another --data DIR")
	}
	if err := errors.Join(lock.Truncate(0), writeAt(lock, fmt.Sprintf("%d\n", os.Getpid()))); err != nil {
		return nil, errors.Join(unwritable(path, err), lock.Close())
	}
	return &Dir{path: path, lock: lock}, nil
}

// makePrivate closes the directory to others. One that holds somebody else's files is not ours to change.
func makePrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return unwritable(path, err)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return unwritable(path, err)
	}
	if _, err := os.Stat(filepath.Join(path, "lock")); len(entries) > 0 && err != nil {
		return ostiary.Errorf(ostiary.KindConfigInvalid, "the directory %s holds other files and is open to other users", path).
			WithFix("give --data a directory of its own")
	}
	if err := os.Chmod(path, 0o700); err != nil { //nolint:gosec // a directory needs its search bit
		return unwritable(path, err)
	}
	return nil
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

func unwritable(path string, err error) error {
	return ostiary.Wrap(ostiary.KindConfigInvalid, err, "the data directory "+path+" cannot be written").
		WithFix("give its owner the right to write it, or start with another --data DIR")
}

// Close lets go of the directory.
func (d *Dir) Close() error { return d.lock.Close() }

// Path returns a place inside the directory.
func (d *Dir) Path(name ...string) string {
	return filepath.Join(append([]string{d.path}, name...)...)
}

// SigningKey returns the Ed25519 key of a name, made on first use.
func (d *Dir) SigningKey(name string) (ed25519.PrivateKey, error) {
	seed, err := d.secret(name, ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// MACKey returns the 32-byte key of a name, made on first use.
func (d *Dir) MACKey(name string) ([]byte, error) { return d.secret(name, 32) }

// SigningKeyAt reads a signing key that a running sidecar made, without taking hold of the directory.
func SigningKeyAt(path, name string) (ed25519.PrivateKey, error) {
	seed, err := readSecret(filepath.Join(path, name+".key"), ed25519.SeedSize)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ostiary.Wrap(ostiary.KindConfigInvalid, err, "there is no sidecar's data in "+path).
			WithFix("start sidecar serve there once, or give the right --data DIR")
	}
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

func (d *Dir) secret(name string, size int) ([]byte, error) {
	path := d.Path(name + ".key")
	secret, err := readSecret(path, size)
	if !errors.Is(err, os.ErrNotExist) {
		return secret, err
	}
	secret = make([]byte, size)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("datadir: %w", err)
	}
	return secret, WriteFile(path, base64.StdEncoding.EncodeToString(secret)+"\n")
}

func readSecret(path string, size int) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, ostiary.Errorf(ostiary.KindConfigInvalid, "the key file %s can be read by others (mode %04o)", path, info.Mode().Perm()).
			WithFix("chmod 600 " + path + "; if anybody may have read it, delete it instead and mint new tokens")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) != size {
		return nil, ostiary.Wrap(ostiary.KindNoKey, err, "the key file "+path+" is damaged").WithFix("restore it from a backup; deleting it voids every permit and token")
	}
	return secret, nil
}

// WriteFile writes a file with mode 0600 so that a crash leaves the old one or the new one, never half of it.
func WriteFile(path, text string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600 by its contract
	if err != nil {
		return fmt.Errorf("datadir: %w", err)
	}
	_, err = tmp.WriteString(text)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("datadir: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}
