// Package shadow evaluates a candidate beside the policies in force, on the same calls, and counts where the two would differ. The candidate
// decides nothing, and no call waits for it.
package shadow
