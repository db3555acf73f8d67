// Package describe says in our own words what a call will do and how bad a mistake could be: what a reviewer reads first.
package describe
