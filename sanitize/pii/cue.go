package pii

import "strings"

// cueReach is how far before a number a word may stand that says what it is.
const cueReach = 40

const (
	phoneCues    = "phone|telephone|cellphone|tel|mobile|cell|fax|call |call me|dial|whatsapp|sms|contact at|reach me|hotline|desk|office|messages to|registered|answering at|电话|手机|传真|致电|联系方式|telefon|téléphone|teléfono|móvil|handy|ハンド|電話"
	cardCues     = "card|visa|mastercard|amex|credit|debit|卡号|银行卡|信用卡|account|maestro|discover|diners"
	ssnCues      = "ssn|social security|social sec"
	passportCues = "passport|护照" //nolint:gosec // words, no credential
	licenseCues  = "driver's license|drivers license|driver license|driving licence|license number|licence number|驾照"
	versionCues  = "version|ver.|release|build| v|section|版本|chapter|firmware"
	numberCues   = "order|invoice|isbn|issn|sku|serial|tracking|timestamp|ticket|case |ref|version|build|订单|单号|编号|流水|doi|pid|port|bytes|offset|epoch|commit|hash|uuid|time|line|count|size|seq"
)

// cue reports whether one of the words stands shortly before at, on the same
// line. A nearer word for another kind of number is not looked for.
func (s *scan) cue(at int, words string) bool {
	low := max(0, at-cueReach)
	before := strings.ToLower(s.s[low:at])
	if line := strings.TrimRight(before, " \t\n"); len(line) < len(before) && strings.HasSuffix(line, ":") {
		before = line // the label stands on a line of its own
	}
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		before = before[i+1:]
	}
	return contains(before, words)
}

// cueAfter reports whether a word that says "phone" follows directly.
func (s *scan) cueAfter(at int) bool {
	rest := strings.TrimLeft(strings.ToLower(s.s[at:min(len(s.s), at+12)]), " -(,")
	for _, w := range []string{"office", "fax", "mobile", "cell", "home", "phone", "(office", "tel"} {
		if strings.HasPrefix(rest, w) {
			return true
		}
	}
	return false
}

// keyCue looks at the JSON member name.
func (s *scan) keyCue(words string) bool {
	return s.key != "" && contains(strings.ToLower(s.key), words)
}

// contains looks for one of the words at the start of a word of text.
func contains(text, words string) bool {
	for w := range strings.SplitSeq(words, "|") {
		for at := 0; ; {
			i := strings.Index(text[at:], w)
			if i < 0 {
				break
			}
			if at += i; at == 0 || w[0] >= 0x80 || !isLetter(text[at-1]) {
				return true
			}
			at++
		}
	}
	return false
}
