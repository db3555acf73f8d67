// Package login remembers who is signed in to the console: one-time codes, the sessions they open, what each session has shown of an
// item, and which masked values a person asked to see. All of it lives in memory; a restart ends every login.
package login
