package policies

import "embed"

// FS holds the shipped packs: the entrypoint (main), baseline and the other packs, the data documents and the schemas. Tests are not among them: they hold the
// shipped settings to what they say, and an operator's settings may differ.
//
//go:embed main/main.rego
//go:embed baseline/conclusion.rego baseline/confidence.rego baseline/paths.rego baseline/provenance.rego baseline/result.rego
//go:embed baseline/session.rego baseline/sinks.rego baseline/tools.rego
//go:embed pack_coding/network.rego pack_coding/publish.rego pack_coding/secrets.rego pack_coding/shell.rego
//go:embed pack_data/personal.rego pack_data/sql.rego pack_owasp_agentic/agentic.rego
//go:embed data schema
var FS embed.FS
