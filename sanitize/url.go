package sanitize

import "strings"

// SensitiveParam reports whether a URL query or form parameter of this name
// holds a credential: tokens, passwords, keys and cloud signatures.
func SensitiveParam(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "sig", "signature", "token", "key", "code", "auth", "pwd", "pass", "secret", "jwt", "sid", "session",
		"credential", "authorization", "x-amz-credential", "x-amz-signature", "x-amz-security-token",
		"x-goog-signature", "x-goog-credential", "awsaccesskeyid", "googleaccessid", "policy", "key-pair-id", "apikey":
		return true
	}
	for _, part := range []string{"password", "passwd", "secret", "api_key", "api-key", "apikey", "access_key",
		"accesskey", "private_key", "token", "signature", "credential"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// MaskURL returns u for a log: the values of sensitive query and fragment
// parameters and the password before the host become ***. The order and
// spelling of everything else stay.
func MaskURL(u string) string {
	u = maskUserinfo(u)
	at := strings.IndexAny(u, "?#")
	if at < 0 {
		return u
	}
	var b strings.Builder
	b.WriteString(u[:at])
	for at < len(u) {
		b.WriteByte(u[at])
		at++
		end := len(u)
		if n := strings.IndexAny(u[at:], "&;?#"); n >= 0 {
			end = at + n
		}
		name, value, ok := strings.Cut(u[at:end], "=")
		b.WriteString(name)
		switch {
		case ok && value != "" && SensitiveParam(name):
			b.WriteString("=***")
		case ok:
			b.WriteString("=" + value)
		}
		at = end
	}
	return b.String()
}

func maskUserinfo(u string) string {
	scheme := strings.Index(u, "://")
	if scheme < 0 {
		return u
	}
	host := u[scheme+3:]
	if n := strings.IndexAny(host, "/?#"); n >= 0 {
		host = host[:n]
	}
	at := strings.LastIndexByte(host, '@')
	colon := strings.IndexByte(host, ':')
	if at < 0 || colon < 0 || colon > at {
		return u
	}
	return u[:scheme+3] + host[:colon+1] + "***" + u[scheme+3+at:]
}
