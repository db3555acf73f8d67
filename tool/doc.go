// Package tool says what a tool, a call to it and its result are: the declaration, the risk that follows from it, the result envelope,
// and the digest that binds an approval to exactly one call.
package tool
