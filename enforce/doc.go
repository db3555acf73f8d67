// Package enforce is the enforcement point: the life of one call from the request to the cleaned result, and nothing else.
//
// [Enforcer.Decide] reads as the steps of ARCHITECTURE.md. What the pipeline needs of its surroundings it declares in ports.go; faces call
// it and render what it answers.
package enforce
