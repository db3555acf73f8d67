package pii

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// email reads an address around the '@' at i.
func (s *scan) email(i int) {
	from := i
	for from > s.done && i-from < 64 {
		r, size := utf8.DecodeLastRuneInString(s.s[:from])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && (r >= 0x80 || strings.IndexByte("._%+-'", byte(r)) < 0) {
			break
		}
		from -= size
	}
	for from < i && strings.IndexByte(".'-%+", s.s[from]) >= 0 {
		from++
	}
	to, dot := i+1, 0
	for to < len(s.s) && to-i < 255 {
		c := s.s[to]
		if !isAlnum(c) && c != '-' && c != '.' {
			break
		}
		if c == '.' {
			if to == i+1 || s.s[to-1] == '.' {
				break
			}
		}
		to++
	}
	to = i + 1 + len(strings.TrimRight(s.s[i+1:to], ".-"))
	dot = i + 1 + strings.LastIndexByte(s.s[i+1:to], '.')
	if from >= i || dot <= i+1 || to-dot < 3 || s.s[i-1] == '.' || !allLetters(s.s[dot+1:to]) || fileName(s.s[dot+1:to]) {
		return
	}
	if to < len(s.s) && (s.s[to] == '@' || s.s[to] == ':' && to+1 < len(s.s) && isLetter(s.s[to+1])) {
		return // git@host.example:path is no mailbox
	}
	if from > 0 && (s.s[from-1] == '/' && from > 1 && s.s[from-2] == '/' || s.s[from-1] == ':') && strings.Contains(s.s[max(0, from-80):from], "://") {
		return // user information of a URL
	}
	s.add(Email, from, to, 0.95)
}

func allLetters(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) {
			return false
		}
	}
	return s != ""
}

// fileName reports whether a "domain" ends like a file: name@2x.png.
func fileName(ext string) bool {
	switch strings.ToLower(ext) {
	case "png", "jpg", "jpeg", "gif", "svg", "js", "ts", "css", "json", "yaml", "yml", "go", "tgz", "zip", "html", "service", "webp", "tsx", "jsx", "mjs":
		return true
	}
	return false
}

// lettered judges a word that starts with a letter: IBAN, MAC, IPv6, passports
// and licences. It returns the end of the word or of the match.
func (s *scan) lettered(i int) int {
	end := s.skipWord(i)
	if i+2 < len(s.s) && isHex(s.s[i]) && i+4 < len(s.s) {
		if to := s.macOrIPv6(i); to > 0 {
			return to
		}
	}
	if end-i >= 4 && isDigit(s.s[i+2]) && isDigit(s.s[i+3]) {
		if to := s.account(i); to > 0 {
			return to
		}
	}
	if end-i == 18 {
		if to := s.identity(i); to > 0 {
			return to
		}
	}
	n := end - i
	if n >= 6 && n <= 14 && strings.ContainsAny(s.s[i:end], "0123456789") {
		switch {
		case n <= 10 && s.cue(i, passportCues):
			return s.add(Passport, i, end, 0.7)
		case s.cue(i, licenseCues):
			return s.add(License, i, end, 0.7)
		}
	}
	return end
}

// account reads an IBAN, which may be written in groups of four.
func (s *scan) account(i int) int {
	var b strings.Builder
	for j := i; j < len(s.s) && b.Len() < 34; j++ {
		c := s.s[j]
		if c == ' ' || c == '-' {
			if j+1 < len(s.s) && isAlnum(s.s[j+1]) && (b.Len()%4 == 0) {
				continue
			}
			break
		}
		if !isAlnum(c) {
			break
		}
		if !isDigit(c) {
			c &^= 0x20 // upper case
		}
		b.WriteByte(c)
		end := j + 1
		if n := b.Len(); n >= 15 && (end == len(s.s) || !isAlnum(s.s[end])) && iban(b.String()) {
			return s.add(IBAN, i, end, 0.99)
		}
	}
	return 0
}

// identity judges the 18 characters of a Chinese identity number that ends in
// X, or of a unified social credit code.
func (s *scan) identity(i int) int {
	const size = 18
	end := i + size
	if end > len(s.s) || end < len(s.s) && isAlnum(s.s[end]) {
		return 0
	}
	text := s.s[i:end]
	switch {
	case chineseID(text):
		return s.add(CNID, i, end, 0.99)
	case socialCredit(text):
		return s.add(CNCompany, i, end, 0.9)
	}
	return 0
}

// provinces start a Chinese number plate.
const provinces = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼"

// plate reads a Chinese number plate: province, letter, five or six
// characters of which at least three are digits.
func (s *scan) plate(i int) int {
	if i+9 > len(s.s) || !strings.Contains(provinces, s.s[i:i+3]) {
		return 0
	}
	if c := s.s[i+3]; c < 'A' || c > 'Z' {
		return 0
	}
	end, digits := i+4, 0
	for end < len(s.s) && (isDigit(s.s[end]) || s.s[end] >= 'A' && s.s[end] <= 'Z') {
		digits += b2i(isDigit(s.s[end]))
		end++
	}
	if n := end - i - 4; n < 5 || n > 6 || digits < 3 {
		return 0
	}
	return s.add(CNPlate, i, end, 0.85)
}
