package tool

import (
	"slices"
	"strings"
)

// Role says what an argument is for, where its name or schema tells (wire.md §5, x-ostiary-role).
type Role string

// Roles of arguments; the empty role means "not known".
const (
	RoleShell      Role = "shell_command"
	RolePath       Role = "path"
	RoleURL        Role = "url"
	RoleSQL        Role = "sql"
	RoleRecipient  Role = "recipient"
	RoleAccount    Role = "account"
	RoleAmount     Role = "amount"
	RoleIdentifier Role = "identifier"
	RoleText       Role = "text"
	RoleSecret     Role = "secret"
)

// roleNames maps words of argument names to roles; the first entry that has one of the name's words wins.
var roleNames = []struct {
	role  Role
	words []string
}{
	{RoleSecret, []string{"password", "passwd", "secret", "token", "apikey", "credential", "credentials"}},
	{RoleShell, []string{"command", "cmd", "shell", "script"}},
	{RoleSQL, []string{"sql"}},
	{RoleURL, []string{"url", "uri", "href", "link", "endpoint", "webhook"}},
	{RolePath, []string{"path", "paths", "file", "filename", "filepath", "dir", "directory", "folder", "cwd", "source", "destination"}},
	{RoleRecipient, []string{"to", "cc", "bcc", "recipient", "recipients", "email", "mail", "channel", "participants", "attendees", "user"}},
	{RoleAccount, []string{"iban", "account", "bic", "card"}},
	{RoleAmount, []string{"amount", "price", "sum", "total"}},
	{RoleIdentifier, []string{"id", "ids", "uuid", "key", "number"}},
	{RoleText, []string{"body", "text", "content", "message", "subject", "title", "description", "note"}},
}

// RoleOf infers the role of the argument at a JSON pointer from the last name in it; array positions are passed over.
func RoleOf(pointer string) Role {
	segments := strings.Split(pointer, "/")
	for i := len(segments) - 1; i > 0; i-- {
		if strings.Trim(segments[i], "0123456789") == "" {
			continue
		}
		return roleOfName(segments[i])
	}
	return ""
}

func roleOfName(name string) Role {
	words := splitName(name)
	for _, r := range roleNames {
		if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(r.words, w) }) {
			return r.role
		}
	}
	return ""
}

// splitName cuts snake_case, kebab-case and camelCase into lower-case words.
func splitName(name string) []string {
	var b strings.Builder
	for i, c := range name {
		upper := c >= 'A' && c <= 'Z'
		switch {
		case c == '_' || c == '-' || c == '.':
			b.WriteByte(' ')
		case upper && i > 0 && name[i-1] >= 'a' && name[i-1] <= 'z':
			b.WriteByte(' ')
			b.WriteRune(c)
		default:
			b.WriteRune(c)
		}
	}
	return strings.Fields(strings.ToLower(b.String()))
}
