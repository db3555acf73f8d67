// Package arguments takes the arguments of calls apart, once for the same bytes: their canonical form, their scalars and what each is for,
// how they do not fit the declaration, what they name and run, and the form of them that may be logged.
package arguments
