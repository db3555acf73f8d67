package policies

import "embed"

// FS holds the shipped packs: the entrypoint (main), baseline, the data documents and the schema of the input document.
//
//go:embed main baseline data schema
var FS embed.FS
