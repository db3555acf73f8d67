package pii

import (
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// phone decides whether a run is a phone number. The library is asked only for
// numbers that name their country, so that plain text never pays for it.
func (s *scan) phone(r run) (kind string, confidence float64) {
	n := len(r.digits)
	if n < 6 || n > 15 || s.neverPhone(r) {
		return "", 0
	}
	local := !r.plus || strings.HasPrefix(r.digits, "86")
	if mobile := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(r.digits, "00"), "86"), "0"); local && len(mobile) == 11 && chineseMobile(mobile) &&
		(len(r.groups) <= 4) && (len(r.groups) > 1 || r.plus || n >= 11) {
		if len(r.groups) == 1 || r.plus || s.cue(r.from, phoneCues) || r.groups[0] == 3 || r.groups[0] == 2 {
			return CNMobile, 0.9
		}
	}
	cued := s.cue(r.from, phoneCues) || s.keyCue(phoneCues) || s.cueAfter(r.to)
	switch {
	case r.plus:
		if international("+" + r.digits) {
			return Phone, 0.95
		}
		if cued || len(r.groups) > 1 {
			return Phone, 0.6
		}
	case strings.HasPrefix(r.digits, "00") && international("+"+r.digits[2:]) && len(r.groups) > 1:
		return Phone, 0.8
	case cued && (len(r.groups) > 1 || n >= 7) && (n >= 7 || r.seps != "."):
		return Phone, 0.75
	case northAmerican(r):
		return Phone, 0.85
	case trunk(r) || r.paren && len(r.groups) >= 2 && n >= 9 && r.groups[0] <= 5:
		return Phone, 0.7
	case chineseLandline(r):
		return Phone, 0.8
	}
	return "", 0
}

// neverPhone rules out dates, decimals, ranges and parts of longer tokens.
func (s *scan) neverPhone(r run) bool {
	if r.from > 0 && strings.IndexByte("$€£¥#=/\\.-_:%&@", s.s[r.from-1]) >= 0 && !r.plus {
		if c := s.s[r.from-1]; c != ':' && c != '=' {
			return true
		}
	}
	if r.to < len(s.s) && strings.IndexByte("%@_/\\", s.s[r.to]) >= 0 {
		return true
	}
	if r.to+1 < len(s.s) && strings.IndexByte("-.:,", s.s[r.to]) >= 0 && isAlnum(s.s[r.to+1]) && !s.cueAfter(r.to) {
		return true
	}
	if len(r.groups) == 2 && r.seps == "." {
		return true // a decimal
	}
	g := r.groups
	if len(g) >= 3 && (g[0] == 4 && g[1] <= 2 && g[2] <= 2 && (len(g) == 3 || year(r.digits)) || g[0] <= 2 && g[1] <= 2 && g[2] == 4) && !r.plus && !r.paren {
		return true
	}
	return strings.ContainsRune(r.seps, '/') && !r.paren || s.cue(r.from, numberCues)
}

func year(digits string) bool { return digits[:2] == "19" || digits[:2] == "20" }

// extension returns the end of an extension ("x123", "ext. 12") at i; i when
// there is none.
func (s *scan) extension(i int) int {
	j := i
	for _, mark := range []string{"x", " x", " ext. ", " ext ", "ext", "#"} {
		if strings.HasPrefix(s.s[i:], mark) {
			j = i + len(mark)
		}
	}
	end := j
	for end < len(s.s) && end-j < 7 && isDigit(s.s[end]) {
		end++
	}
	if j == i || end == j || end < len(s.s) && isAlnum(s.s[end]) {
		return i
	}
	return end
}

// international asks libphonenumber.
func international(number string) bool {
	p, err := phonenumbers.Parse(number, "ZZ")
	return err == nil && phonenumbers.IsValidNumber(p)
}

func chineseMobile(d string) bool {
	return d[0] == '1' && d[1] >= '3' && strings.Count(d, d[2:3]) < 9
}

// northAmerican wants 3-3-4, with or without the leading 1.
func northAmerican(r run) bool {
	g, d := r.groups, r.digits
	if len(g) == 4 && g[0] == 1 && d[0] == '1' {
		g, d = g[1:], d[1:]
	}
	return len(g) == 3 && g[0] == 3 && g[1] == 3 && g[2] == 4 && d[0] >= '2' && !strings.ContainsRune(r.seps, '/')
}

// trunk is a national number in groups behind a leading 0.
func trunk(r run) bool {
	n := len(r.digits)
	if n < 9 || n > 12 || r.digits[0] != '0' || len(r.groups) < 3 || len(r.groups) > 5 {
		return false
	}
	for i, g := range r.groups {
		if g < 2 || i == 0 && g > 5 {
			return false
		}
	}
	return true
}

// chineseLandline is an area code with 0, a dash and seven or eight digits.
func chineseLandline(r run) bool {
	g := r.groups
	return len(g) == 2 && r.digits[0] == '0' && r.seps == "-" && (g[0] == 3 || g[0] == 4) && (g[1] == 7 || g[1] == 8)
}
