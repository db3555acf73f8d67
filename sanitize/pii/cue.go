package pii

import "strings"

// cueReach is how far before a number a word may stand that says what it is.
const cueReach = 40

const (
	phoneCues    = "phone|tel|mobile|cell|fax|call |call me|dial|whatsapp|sms|contact|reach me|ring |hotline|电话|手机|传真|致电|联系方式|telefon|téléphone|teléfono|móvil|handy|ハンド|電話"
	cardCues     = "card|visa|mastercard|amex|credit|debit|卡号|银行卡|信用卡|account|maestro|discover|diners"
	ssnCues      = "ssn|social security|social sec"
	passportCues = "passport|护照"
	licenseCues  = "driver's license|drivers license|driver license|driving licence|license number|licence number|驾照"
	versionCues  = "version|ver.|release|build| v|section|版本|chapter|firmware"
	numberCues   = "order|invoice|isbn|issn|sku|serial|tracking|timestamp|ticket|case |ref|version|build|订单|单号|编号|流水|doi|pid|port|bytes|offset|epoch|commit|hash|uuid|time|line|count|size|seq"
)

// cue reports whether one of the words stands shortly before at, on the same
// line. A nearer word for another kind of number is not looked for.
func (s *scan) cue(at int, words string) bool {
	low := max(0, at-cueReach)
	before := strings.ToLower(s.s[low:at])
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		before = before[i+1:]
	}
	return contains(before, words)
}

// keyCue looks at the JSON member name.
func (s *scan) keyCue(words string) bool {
	return s.key != "" && contains(strings.ToLower(s.key), words)
}

func contains(text, words string) bool {
	for w := range strings.SplitSeq(words, "|") {
		if i := strings.Index(text, w); i >= 0 {
			return true
		}
	}
	return false
}
