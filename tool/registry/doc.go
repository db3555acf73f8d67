// Package registry keeps tool declarations: what an operator declared through the API or in files, and what we ship for the built-in tools
// of coding agents. An operator's word beats ours. It also checks arguments against the declared schema.
package registry
