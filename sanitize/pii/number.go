package pii

import (
	"net/netip"
	"strings"
)

// run is a stretch of digits with the separators that numbers are written with.
type run struct {
	from, to int
	digits   string
	groups   []int // lengths of the digit groups
	seps     string
	plus     bool
	paren    bool
}

// maxRun bounds a run, in bytes.
const maxRun = 40

// number judges the digits at i, which no letter or digit comes before.
func (s *scan) number(i int) int {
	if i > 0 && (isAlnum(s.s[i-1]) || s.s[i-1] == '_') {
		return s.skipWord(i)
	}
	if to := s.ipv4(i); to > 0 {
		return to
	}
	if to := s.macOrIPv6(i); to > 0 {
		return to
	}
	r := s.collect(i)
	if r.to < len(s.s) && isDigit(s.s[r.to]) {
		return s.skipWord(r.to) // longer than any number that is looked for
	}
	if ext := s.extension(r.to); ext > r.to && len(r.digits) >= 9 {
		if kind, confidence := s.phone(r); kind != "" || r.plus || len(r.groups) > 2 {
			return s.add(Phone, r.from, ext, max(confidence, 0.7))
		}
	}
	if r.to < len(s.s) && (isLetter(s.s[r.to]) || s.s[r.to] == '_') {
		if to := s.identity(i); to > 0 {
			return to
		}
		return s.skipWord(r.to)
	}
	if to := s.classify(r); to > 0 {
		return to
	}
	// The first group may belong to something else: a date before a phone.
	if len(r.groups) > 1 {
		return r.from + max(r.groups[0], 1) + b2i(r.plus || r.paren)
	}
	return r.to
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *scan) skipWord(i int) int {
	for i < len(s.s) && (isAlnum(s.s[i]) || s.s[i] == '_') {
		i++
	}
	return i
}

// collect reads the run that starts at the digit i, with a '+' or '(' before it.
func (s *scan) collect(i int) run {
	r := run{from: i, to: i}
	if i > 0 && s.s[i-1] == '(' && i-1 >= s.done {
		r.paren, r.from = true, i-1
	}
	if r.from > 0 && s.s[r.from-1] == '+' && r.from-1 >= s.done {
		r.plus, r.from = true, r.from-1
	}
	var digits, seps strings.Builder
	group := 0
	for j := i; j < len(s.s) && j-i < maxRun; j++ {
		c := s.s[j]
		if isDigit(c) {
			seps.WriteString(s.s[r.to:max(j, r.to)])
			digits.WriteByte(c)
			group++
			r.to = j + 1
			continue
		}
		if group > 0 {
			r.groups = append(r.groups, group)
			group = 0
		}
		if !s.separates(j, r.to) {
			break
		}
	}
	if group > 0 {
		r.groups = append(r.groups, group)
	}
	r.digits, r.seps = digits.String(), seps.String()
	return r
}

// separates reports whether the byte at j may stand inside a number whose
// last digit ended at to: at most two such bytes in a row, as in ") ".
func (s *scan) separates(j, to int) bool {
	if strings.IndexByte(" -.()/", s.s[j]) < 0 || j-to > 2 {
		return false
	}
	for k := j + 1; k < len(s.s) && k <= j+2; k++ {
		if isDigit(s.s[k]) {
			return true
		}
		if strings.IndexByte(" -.()", s.s[k]) < 0 {
			return false
		}
	}
	return false
}

// classify decides what a run is and returns its end; 0 for nothing.
func (s *scan) classify(r run) int {
	n := len(r.digits)
	switch {
	case n < 5 || n > 20:
		return 0
	case n == 18 && len(r.groups) == 1 && chineseID(r.digits):
		return s.add(CNID, r.from, r.to, 0.99)
	case n == 15 && len(r.groups) == 1 && date("19"+r.digits[6:12]) && r.digits[0] >= '1' && r.digits[0] <= '6' && s.alone(r):
		return s.add(CNID, r.from, r.to, 0.5)
	}
	if n >= 12 && n <= 19 && s.cardLayout(r) {
		cued := s.cue(r.from, cardCues)
		switch {
		case unionPay(r.digits):
			return s.add(CNBank, r.from, r.to, 0.9)
		case cardLike(r.digits) && luhn(r.digits) && (n >= 14 || cued):
			return s.add(Card, r.from, r.to, 0.95)
		case cued && n >= 13 && cardLike(r.digits):
			return s.add(Card, r.from, r.to, 0.6)
		}
	}
	if n == 9 && s.ssn(r) {
		return s.add(SSN, r.from, r.to, 0.85)
	}
	if kind, confidence := s.phone(r); kind != "" {
		return s.add(kind, r.from, r.to, confidence)
	}
	return s.cued(r)
}

// cued are numbers that only a word before them tells.
func (s *scan) cued(r run) int {
	n := len(r.digits)
	switch {
	case len(r.groups) > 1:
	case n >= 7 && n <= 10 && s.cue(r.from, passportCues):
		return s.add(Passport, r.from, r.to, 0.7)
	case n >= 7 && n <= 12 && s.cue(r.from, licenseCues):
		return s.add(License, r.from, r.to, 0.7)
	}
	return 0
}

// cardLayout accepts one group or groups of two to six set apart alike.
func (s *scan) cardLayout(r run) bool {
	if len(r.groups) == 1 {
		return true
	}
	if strings.Trim(r.seps, r.seps[:1]) != "" || r.seps[0] != ' ' && r.seps[0] != '-' {
		return false
	}
	for i, g := range r.groups {
		if g > 7 || g < 3 && i < len(r.groups)-1 {
			return false
		}
	}
	return true
}

// ssn wants 3-2-4 with one separator, or the word.
func (s *scan) ssn(r run) bool {
	if !socialSecurity(r.digits) {
		return false
	}
	if len(r.groups) == 3 && r.groups[0] == 3 && r.groups[1] == 2 && !r.plus {
		return r.seps == "--" || (r.seps == "  " || r.seps == "..") && s.cue(r.from, ssnCues)
	}
	return len(r.groups) == 1 && s.cue(r.from, ssnCues)
}

// alone reports whether a run is all that its text holds.
func (s *scan) alone(r run) bool { return strings.TrimSpace(s.s) == s.s[r.from:r.to] }

// ipv4 accepts a dotted quad that is no version and no part of a longer chain.
func (s *scan) ipv4(i int) int {
	end := i
	dots := 0
	for end < len(s.s) && end-i < 16 && (isDigit(s.s[end]) || s.s[end] == '.') {
		dots += b2i(s.s[end] == '.')
		end++
	}
	if dots > 0 && s.s[end-1] == '.' {
		end, dots = end-1, dots-1
	}
	if dots != 3 || end < len(s.s) && (isAlnum(s.s[end]) || s.s[end] == '_') || i > 0 && s.s[i-1] == '.' {
		return 0
	}
	if end+1 < len(s.s) && (s.s[end] == '-' || s.s[end] == '.') && isAlnum(s.s[end+1]) {
		return 0
	}
	ip, err := netip.ParseAddr(s.s[i:end])
	if err != nil || ip.IsUnspecified() || ip.IsLoopback() || ip.As4()[0] == 255 || s.cue(i, versionCues) {
		return 0
	}
	if ip.As4()[0] == 0 || ip.As4()[0] < 10 && s.s[i:end][1] == '.' && len(s.s[i:end]) < 8 {
		return 0 // 1.2.3.4: a version, an example or a section
	}
	if i > 0 && (s.s[i-1] == '-' || s.s[i-1] == '/' && (i < 2 || s.s[i-2] != '/')) {
		return 0
	}
	return s.add(IP, i, end, 0.85)
}

// macOrIPv6 reads hex groups between colons, or dashes for a MAC address.
func (s *scan) macOrIPv6(i int) int {
	if to := s.mac(i); to > 0 {
		return to
	}
	return s.ipv6(i)
}

func (s *scan) mac(i int) int {
	const size = 17
	if i+size > len(s.s) || i > 0 && (isAlnum(s.s[i-1]) || s.s[i-1] == ':' || s.s[i-1] == '-') {
		return 0
	}
	sep := s.s[i+2]
	if sep != ':' && sep != '-' {
		return 0
	}
	for k := range size {
		c := s.s[i+k]
		if k%3 == 2 && c != sep || k%3 != 2 && !isHex(c) {
			return 0
		}
	}
	if end := i + size; end < len(s.s) && (isAlnum(s.s[end]) || s.s[end] == sep) {
		return 0
	}
	if text := s.s[i : i+size]; strings.Count(text, text[:1])+strings.Count(text, string(sep)) == size {
		return 0 // 00:00:… and ff:ff:… name nobody
	}
	return s.add(MAC, i, i+size, 0.9)
}

func (s *scan) ipv6(i int) int {
	from, end, colons := i, i, 0
	for end < len(s.s) && end-from < 46 && (isHex(s.s[end]) || s.s[end] == ':' || s.s[end] == '.' && colons > 2) {
		colons += b2i(s.s[end] == ':')
		end++
	}
	if colons < 3 || end-from < 8 || end < len(s.s) && isAlnum(s.s[end]) || from > 0 && (isAlnum(s.s[from-1]) || s.s[from-1] == ':') {
		return 0
	}
	text := strings.TrimRight(s.s[from:end], ".")
	ip, err := netip.ParseAddr(text)
	if err != nil || !ip.Is6() || ip.IsLoopback() || ip.IsUnspecified() {
		return 0
	}
	return s.add(IP, from, from+len(text), 0.85)
}
