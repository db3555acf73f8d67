package secret

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Samples are made at run time: nothing in the repository looks like a secret.

var slots = regexp.MustCompile(`\{(alnum|hex|upper):(\d+)\}|\{pem:RSA\}`)

// expand fills the slots of a template.
func expand(rng *rand.Rand, template string) string {
	return slots.ReplaceAllStringFunc(template, func(s string) string {
		m := slots.FindStringSubmatch(s)
		if m[1] == "" {
			return "RSA " + "PRIVATE"
		}
		n := 0
		for _, c := range m[2] {
			n = n*10 + int(c-'0')
		}
		return random(rng, alphabets[m[1]], n)
	})
}

var alphabets = map[string]string{
	"alnum": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
	"hex":   "0123456789abcdef",
	"upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
}

func random(rng *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return string(b)
}

// produce writes a string that re matches.
func produce(rng *rand.Rand, re *syntax.Regexp, b *strings.Builder) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(pick(rng, re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a' + byte(rng.IntN(26)))
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		low, high := re.Min, re.Max
		switch re.Op {
		case syntax.OpStar:
			low, high = 0, 3
		case syntax.OpPlus:
			low, high = 1, 40
		case syntax.OpQuest:
			low, high = 0, 1
		}
		if high < 0 || high > low+40 {
			high = low + 40
		}
		if re.Op == syntax.OpRepeat && low == 0 {
			high = min(high, 3)
		}
		for range low + rng.IntN(high-low+1) {
			produce(rng, re.Sub[0], b)
		}
	case syntax.OpAlternate:
		produce(rng, re.Sub[rng.IntN(len(re.Sub))], b)
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			produce(rng, sub, b)
		}
	}
}

// pick chooses a printable rune of a class where there is one.
func pick(rng *rand.Rand, class []rune) rune {
	for range 200 {
		i := rng.IntN(len(class)/2) * 2
		span := int(class[i+1]-class[i]) + 1
		if r := class[i] + rune(rng.IntN(min(span, 95))); r > 0x20 && r < 0x7f {
			return r
		}
	}
	return class[0]
}
