// Package httpapi is the agents' face: it reads requests strictly, calls the enforcement point, and renders what it answers. It decides
// nothing.
package httpapi
