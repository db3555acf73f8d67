// Package policies embeds the shipped Rego packs with their data and schemas. Their tests lie beside them and stay out of the binary.
package policies
