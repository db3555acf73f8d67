// Package draft answers the questions of policy authors about files that are in nobody's directory yet, one question at a time.
package draft
