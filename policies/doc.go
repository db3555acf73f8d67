// Package policies embeds the shipped Rego packs with their data, schemas and tests.
package policies
