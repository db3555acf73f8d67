// Package document is the input document of policies field by field: what identifies a value, and the value as OPA sees it.
package document
