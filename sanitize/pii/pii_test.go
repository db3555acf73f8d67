package pii_test

import (
	"context"
	"strings"
	"testing"

	"ostiary/sanitize"
	"ostiary/sanitize/pii"
)

func detect(tb testing.TB, cfg pii.Config, s string) []sanitize.Match {
	tb.Helper()
	d, err := pii.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return d.Detect(context.Background(), sanitize.NewInput(s, "", ""))
}

// Covers: A13
func TestEachTypeIsFoundWhereItStands(t *testing.T) {
	for _, c := range []struct{ kind, in, want string }{
		{pii.Email, "mail to <jo.doe+x@sub.example.co.uk>.", "jo.doe+x@sub.example.co.uk"},
		{pii.Phone, "call (212) 555-0143 now", "(212) 555-0143"},
		{pii.Phone, "tel. +44 20 7946 0958", "+44 20 7946 0958"},
		{pii.Phone, "Fax: 463-612-6138x036", "463-612-6138x036"},
		{pii.Phone, "Phone:\n780 6326", "780 6326"},
		{pii.Card, "pay 4111-1111-1111-1111 today", "4111-1111-1111-1111"},
		{pii.IBAN, "to DE89 3704 0044 0532 0130 00.", "DE89 3704 0044 0532 0130 00"},
		{pii.IP, "from 203.0.113.77 port 22", "203.0.113.77"},
		{pii.IP, "from 2001:db8::8a2e:370:7334", "2001:db8::8a2e:370:7334"},
		{pii.MAC, "eth0 38:f9:d3:4b:f5:51", "38:f9:d3:4b:f5:51"},
		{pii.SSN, "number 219-09-9999 of", "219-09-9999"},
		{pii.CNMobile, "手机13800138000，", "13800138000"},
		{pii.CNID, "身份证11010519491231002X。", "11010519491231002X"},
		{pii.CNBank, "卡号6222021234567890128", "6222021234567890128"},
		{pii.CNPlate, "车牌京A12345", "京A12345"},
	} {
		m := detect(t, pii.Config{}, c.in)
		if len(m) != 1 || m[0].Type != c.kind || c.in[m[0].Start:m[0].End] != c.want {
			t.Errorf("%s in %q: %v", c.kind, c.in, m)
		}
	}
}

// Covers: A13
func TestNumbersThatNameNobodyStay(t *testing.T) {
	for _, s := range []string{
		"2026-11-20T21:05:00Z", "1732136700123", "v1.2.3.4", "version 10.20.30.40", "ISBN 978-3-16-148410-0", "order 4111111111111111111",
		"4111111111111112", "110105194912310021", "DE89370400440532013001", "3.14159265358979", "sha 9fceb02d0ae598e95dc970b74767f19372d61af8",
		"logo@2x.png", "git@github.com:a/b.git", "a @ b", "127.0.0.1", "12:30:45", "x[1234567]", "$1,234,567.89", "pid 123456789",
	} {
		if m := detect(t, pii.Config{}, s); len(m) > 0 {
			t.Errorf("%q: %v", s, m)
		}
	}
}

// Covers: A13
func TestATypeCanBeSwitchedOff(t *testing.T) {
	if m := detect(t, pii.Config{Disabled: []string{pii.Email}}, "ann@example.org"); len(m) > 0 {
		t.Errorf("%v", m)
	}
	if _, err := pii.New(pii.Config{Disabled: []string{"shoe_size"}}); err == nil {
		t.Error("an unknown type was accepted")
	}
}

func FuzzDetect(f *testing.F) {
	for _, s := range []string{"@", "a@b.co", "+1 (", "62", "::1:2:3", "京A", "DE89 3704", "1.2.3.4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		for _, m := range detect(t, pii.Config{}, s) {
			if m.Start < 0 || m.End > len(s) || m.Start >= m.End {
				t.Errorf("%q: %d:%d", s, m.Start, m.End)
			}
		}
	})
}

func BenchmarkDetect(b *testing.B) {
	d, err := pii.New(pii.Config{})
	if err != nil {
		b.Fatal(err)
	}
	in := sanitize.NewInput(strings.Repeat("On 2026-03-01 at 10:20 the 42 members met; 3.5 percent left.\n", 1500), "", "")
	b.SetBytes(int64(len(in.Text)))
	for b.Loop() {
		d.Detect(context.Background(), in)
	}
}
