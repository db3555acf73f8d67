package pii

import "strings"

// luhn checks the check digit of a card number.
func luhn(digits string) bool {
	sum, double := 0, false
	for i := len(digits) - 1; i >= 0; i-- {
		d := int(digits[i] - '0')
		if double {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		double = !double
	}
	return sum%10 == 0 && strings.Count(digits, digits[:1]) < len(digits)
}

// cardLike reports whether digits have the length and prefix of a card
// network (the ranges are ISO 7812's), which rules out most numbers that pass Luhn by chance.
func cardLike(d string) bool {
	two := int(d[0]-'0')*10 + int(d[1]-'0')
	switch n := len(d); {
	case d[0] == '4':
		return n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55, d[:4] >= "2221" && d[:4] <= "2720":
		return n == 16
	case two == 34, two == 37:
		return n == 15
	case d[:4] == "6011", two == 65, d[:3] >= "644" && d[:3] <= "649":
		return n >= 16 && n <= 19
	case two == 35:
		return n >= 16 && n <= 19
	case two == 36, two == 38, two == 39, d[:3] >= "300" && d[:3] <= "305":
		return n == 14 || n == 16
	case two == 50, two >= 56 && two <= 58, two == 67, two == 63, d[:4] == "6304", two == 60:
		return n >= 12 && n <= 19
	case d[:4] == "1800", d[:4] == "2131":
		return n == 15
	}
	return false
}

// unionPay reports whether digits can be a Chinese bank card.
func unionPay(d string) bool {
	return len(d) >= 16 && len(d) <= 19 && (d[:2] == "62" || d[:3] == "603" || d[:2] == "81") && luhn(d)
}

// iban checks length by country and the check digits (ISO 13616, mod 97).
func iban(s string) bool {
	want := strings.Index(ibanLengths, s[:2])
	if want < 0 || want%4 != 0 || int(ibanLengths[want+2]-'0')*10+int(ibanLengths[want+3]-'0') != len(s) {
		return false
	}
	rem := 0
	for _, c := range []byte(s[4:] + s[:4]) {
		switch {
		case isDigit(c):
			rem = (rem*10 + int(c-'0')) % 97
		default:
			rem = (rem*100 + int(c-'A') + 10) % 97
		}
	}
	return rem == 1
}

// ibanLengths holds country and length in groups of four, from the registry.
const ibanLengths = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29BY28CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18FO18FR27GB22GE22" +
	"GI23GL18GR27GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MR27MT31MU30" +
	"NL18NO15PK24PL28PS29PT25QA29RO24RS22SA24SC31SE24SI19SK24SM27ST25SV28TL23TN24TR26UA29VA22VG24XK20"

// chineseID checks an 18-character resident identity number (GB 11643, mod
// 11-2) and the date in it.
func chineseID(s string) bool {
	weights := [17]int{7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2}
	sum := 0
	for i, w := range weights {
		if !isDigit(s[i]) {
			return false
		}
		sum += w * int(s[i]-'0')
	}
	last := s[17]
	if last == 'x' {
		last = 'X'
	}
	return "10X98765432"[sum%11] == last && date(s[6:14]) && s[0] >= '1' && s[0] <= '8'
}

// date reports whether s is a plausible YYYYMMDD of birth.
func date(s string) bool {
	year, month, day := s[:4], s[4:6], s[6:8]
	return year >= "1850" && year <= "2099" && month >= "01" && month <= "12" && day >= "01" && day <= "31"
}

// socialCredit checks a Chinese unified social credit code (GB 32100, mod 31).
func socialCredit(s string) bool {
	const alphabet = "0123456789ABCDEFGHJKLMNPQRTUWXY"
	sum, w := 0, 1
	for i := range 17 {
		v := strings.IndexByte(alphabet, s[i])
		if v < 0 {
			return false
		}
		sum += v * w
		w = w * 3 % 31
	}
	return strings.IndexByte("159ANY", s[0]) >= 0 && strings.IndexByte(alphabet, s[17]) == (31-sum%31)%31
}

// socialSecurity reports whether the nine digits can be a US number.
func socialSecurity(d string) bool {
	return d[:3] != "000" && d[:3] != "666" && d[0] != '9' && d[3:5] != "00" && d[5:] != "0000"
}
