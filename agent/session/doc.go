// Package session keeps what one run of an agent has touched: its labels, which only grow, where values came from, and how it is going.
package session
