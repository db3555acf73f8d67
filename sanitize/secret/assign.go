package secret

import "strings"

// strength says how much a name promises a credential.
type strength int

// A password may be short and plain; a token must look random.
const (
	none strength = iota
	token
	password
)

// maxValue bounds an assigned value, in bytes.
const maxValue = 512

// assignNames are the parts of names that set off the check.
func assignNames() []string {
	return []string{
		"password", "passwd", "passphrase", "passwort", "contraseña", "pwd", "_pass", "-pass", "pass=", "pass:", "secret", "token",
		"api_key", "api-key", "apikey", "access_key", "accesskey", "auth_key", "authkey", "private_key",
		"privatekey", "encryption_key", "signing_key", "master_key", "credential", "_key", "-key", "auth=", "密码", "密钥", "口令",
	}
}

// strengthOf judges a name. Names of things around a credential are none.
func strengthOf(name string) strength {
	n := strings.ToLower(name)
	for _, not := range []string{
		"token_type", "tokentype", "tokens", "tokeniz", "tokenurl", "token_url", "token_uri", "endpoint", "secret_name",
		"secretname", "secretref", "secretkeyref", "public", "pubkey", "_id", "keyid", "length", "_path", "_file", "_ttl",
		"expir", "_count", "limit", "hash", "policy", "primary_key", "foreign_key", "sort_key", "partition_key", "cache_key",
		"cache-key", "_name", "csrf", "xsrf", "next_page", "pagetoken", "page_token", "cursor", "continuation", "keyword",
		"fingerprint", "idempotency", "author", "hotkey", "keyboard",
	} {
		if strings.Contains(n, not) {
			return none
		}
	}
	for _, p := range []string{"password", "passwd", "passphrase", "passwort", "contraseña", "pwd", "密码", "口令"} {
		if strings.Contains(n, p) {
			return password
		}
	}
	if strings.HasSuffix(n, "_pass") || strings.HasSuffix(n, "-pass") || n == "pass" {
		return password
	}
	for _, p := range []string{"secret", "token", "key", "credential", "auth", "密钥"} {
		if strings.Contains(n, p) {
			return token
		}
	}
	return none
}

// assigned looks for name = value around the name part at s[at:at+n] and
// returns where the value lies.
func assigned(s string, at, n int) (from, to int) {
	left, right := at, at+n
	if c := s[right-1]; c == '=' || c == ':' {
		right--
	}
	for left > 0 && at-left < 40 && (isWord(s[left-1]) || s[left-1] == '-') {
		left--
	}
	for right < len(s) && right-at-n < 40 && (isWord(s[right]) || s[right] == '-') {
		right++
	}
	level := strengthOf(s[left:right])
	if level == none {
		return 0, 0
	}
	flag := strings.HasPrefix(s[left:right], "--") || strings.HasPrefix(s[left:right], "-p")
	start, ok := operator(s, right, flag)
	if !ok {
		return 0, 0
	}
	from, to, quoted := valueAt(s, start)
	if to-from > maxValue || !plausible(level, s[from:to], quoted) {
		return 0, 0
	}
	return from, to
}

// operator skips what stands between a name and its value.
func operator(s string, i int, flag bool) (int, bool) {
	skip := func(set string, most int) int {
		n := 0
		for i < len(s) && n < most && strings.IndexByte(set, s[i]) >= 0 {
			i++
			n++
		}
		return n
	}
	skip("\"'`]", 3)
	gap := skip(" \t", 12)
	if strings.HasPrefix(s[i:], "：") {
		i += len("：")
	} else if skip("=:>|,?", 4) == 0 && !(flag && gap > 0) {
		return 0, false
	}
	skip(" \t", 12)
	return i, i < len(s)
}

// valueAt returns the value that starts at i, without its quotes.
func valueAt(s string, i int) (from, to int, quoted bool) {
	for i < len(s) && i+1 < len(s) && (s[i] == 'r' || s[i] == 'b' || s[i] == 'f' || s[i] == '@') && (s[i+1] == '"' || s[i+1] == '\'') {
		i++
	}
	if i+1 < len(s) && s[i] == '\\' && (s[i+1] == '"' || s[i+1] == '\'') {
		i++
	}
	if q := s[i]; q == '"' || q == '\'' || q == '`' {
		end := i + 1
		for end < len(s) && end-i <= maxValue && s[end] != q && s[end] != '\n' {
			end++
		}
		if end == len(s) || s[end] != q {
			return i, i, true
		}
		if end > i+1 && s[end-1] == '\\' {
			return i + 1, end - 1, true
		}
		return i + 1, end, true
	}
	end := i
	for end < len(s) && end-i <= maxValue && s[end] > ' ' && strings.IndexByte("\"'`,;<>&|)]}", s[end]) < 0 {
		end++
	}
	return i, end, false
}

// plausible reports whether value can be a credential under a name of the
// given strength.
func plausible(level strength, value string, quoted bool) bool {
	if len(value) < 6 || placeholder(value) || reference(value, quoted) {
		return false
	}
	digit, letter, symbol := kinds(value)
	if level == password {
		if strings.ContainsAny(value, " \t\n") {
			return false
		}
		return digit && letter || symbol && (letter || digit) && quoted || quoted && digit
	}
	if len(value) < 10 || strings.ContainsAny(value, " \t\n(){}[]<>$") || !digit || !letter {
		return false
	}
	if len(value) == 36 && strings.Count(value, "-") == 4 {
		return false // a UUID names things more often than it opens them
	}
	return entropy(value) >= 2.9
}

// kinds says which kinds of bytes value holds.
func kinds(value string) (digit, letter, symbol bool) {
	for i := range len(value) {
		switch c := value[i]; {
		case '0' <= c && c <= '9':
			digit = true
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			letter = true
		case strings.IndexByte("!@#$%^&*+=?~", c) >= 0:
			symbol = true
		}
	}
	return digit, letter, symbol
}

// reference reports whether value points at a credential instead of being one:
// a path, a URL, a call, a variable.
func reference(value string, quoted bool) bool {
	if strings.Contains(value, "://") || strings.HasPrefix(value, "/") || strings.HasPrefix(value, "./") ||
		strings.HasPrefix(value, "sha256:") || strings.HasPrefix(value, "arn:") {
		return true
	}
	if quoted {
		return strings.ContainsAny(value, "{}") && strings.Contains(value, "{")
	}
	if strings.ContainsAny(value, "([{") {
		return true
	}
	// A dotted chain of names is code.
	if i := strings.IndexByte(value, '.'); i > 0 && i+1 < len(value) {
		name := strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.0123456789")
		digits := strings.ContainsAny(value[:i], "0123456789")
		return name == "" && !digits
	}
	return false
}

// placeholder reports whether value stands for a value.
func placeholder(value string) bool {
	v := strings.ToLower(strings.Trim(value, "\"'"))
	if v == "" || strings.IndexByte("$<%*{[", v[0]) >= 0 {
		return true
	}
	for _, p := range []string{
		"xxxx", "****", "....", "your", "<", "example", "placeholder", "changeme", "change_me", "change-me", "redacted",
		"dummy", "insert", "replace", "todo", "${", "{{", "process.env", "os.environ", "getenv", "_here", "-here", "000000",
		"xxx.", "abcdefghijklmnopqrstuvwxyz", "my-token", "mytoken", "my-secret", "mysecret", "my_secret", "fake", "...",
	} {
		if strings.Contains(v, p) {
			return true
		}
	}
	switch v {
	case "true", "false", "null", "none", "nil", "undefined", "password", "passwd", "secret", "token", "string", "test", "pass":
		return true
	}
	return strings.Count(v, v[:1]) == len(v)
}
