// Package ostiary names what every other package shares: the kinds of refusal, the error that carries one, and the version.
//
// A kind is a stable word of the wire contract. An [Error] keeps apart what is said (Msg, Fix) and what is logged (Err), so that a face can
// answer without leaking internals. ARCHITECTURE.md tells the life of a call through the packages.
package ostiary

// Version is the version of the build; the linker may set it (-X ostiary.Version=…).
var Version = "0.1.0-dev"

// SchemaVersion is the version of decision records, tool declarations and events (requirements B1, B8).
const SchemaVersion = "0.2.0"
