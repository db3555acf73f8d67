// Package queue holds calls that wait for a person: the review item, its states and their transitions, the rulings that move it, and the
// desk that applies them. Store implementations live in subpackages and must pass queuetest.Run.
package queue
