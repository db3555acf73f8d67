// Package whatif asks policies what they would do: why a call is decided as it is and what would change that, whether an invariant holds
// over all documents that differ in what the policies read, and which recorded decisions a candidate would decide otherwise.
package whatif
