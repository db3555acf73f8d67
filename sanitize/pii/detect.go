package pii

import (
	"context"
	"fmt"
	"slices"

	"ostiary/sanitize"
)

// The types of findings.
const (
	Email     = "email"
	Phone     = "phone"
	Card      = "card"
	IBAN      = "iban"
	IP        = "ip"
	MAC       = "mac"
	SSN       = "us_ssn"
	CNMobile  = "cn_mobile"
	CNID      = "cn_id"
	CNBank    = "cn_bank_card"
	CNPlate   = "cn_plate"
	CNCompany = "cn_uscc"
	Passport  = "passport"
	License   = "driver_license"
)

func types() []string {
	return []string{
		Email, Phone, Card, IBAN, IP, MAC, SSN, CNMobile, CNID, CNBank, CNPlate, CNCompany, Passport, License,
	}
}

// Config sets up a Detector.
type Config struct {
	// Disabled names types that are left alone. Default none: agents that
	// need to see e-mail addresses disable "email".
	Disabled []string
}

// Detector finds personal data.
type Detector struct{ off map[string]bool }

var _ sanitize.Detector = (*Detector)(nil)

// New returns a Detector; it fails on a disabled type that does not exist.
func New(cfg Config) (*Detector, error) {
	d := &Detector{off: make(map[string]bool)}
	for _, t := range cfg.Disabled {
		if !slices.Contains(types(), t) {
			return nil, fmt.Errorf("pii: Disabled names %q, which is no type", t)
		}
		d.off[t] = true
	}
	return d, nil
}

// Families implements sanitize.Detector.
func (d *Detector) Families() []sanitize.Family { return []sanitize.Family{sanitize.PII} }

// Detect implements sanitize.Detector.
func (d *Detector) Detect(_ context.Context, in *sanitize.Input) []sanitize.Match {
	s := &scan{d: d, v: in.Main, s: in.Main.Text, key: in.Key}
	s.all()
	out := s.out
	for _, v := range in.Derived {
		if v.Kind == "spacing" {
			continue
		}
		part := &scan{d: d, v: v, s: v.Text}
		part.all()
		out = append(out, part.out...)
	}
	return out
}

// scan is one pass over one view.
type scan struct {
	d    *Detector
	v    *sanitize.View
	s    string
	key  string
	done int // end of the last match
	out  []sanitize.Match
}

// all walks the text. Every handler returns where to go on, never before i+1.
func (s *scan) all() {
	for i := 0; i < len(s.s); {
		switch c := s.s[i]; {
		case c == '@':
			s.email(i)
			i++
		case isDigit(c):
			i = max(s.number(i), i+1)
		case isLetter(c):
			i = max(s.lettered(i), i+1)
		case c >= 0xE4 && c <= 0xE9:
			i = max(s.plate(i), i+3)
		case c == ':' && i+1 < len(s.s) && s.s[i+1] == ':':
			i = max(s.ipv6(i), i+2)
		default:
			i++
		}
	}
}

// add records s.s[from:to] unless its type is off.
func (s *scan) add(kind string, from, to int, confidence float64) int {
	if !s.d.off[kind] {
		start, end := s.v.Original(from, to)
		s.out = append(s.out, sanitize.Match{
			Family: sanitize.PII, Type: kind, Start: start, End: end,
			Action: sanitize.Redacted, Confidence: confidence, Value: s.s[from:to],
		})
	}
	s.done = to
	return to
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
func isAlnum(c byte) bool  { return isDigit(c) || isLetter(c) }
