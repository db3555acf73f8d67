# METADATA
# title: The one entrypoint
# description: |
#   Collects the verdicts of every package policies.<layer>.<name>. It is a set, so order cannot matter; Go combines it,
#   the strictest behavior wins. A verdict that is no object is an evaluation error, and an evaluation error denies.
package ostiary.main

import rego.v2

decision := {"verdicts": verdicts}

verdicts contains verdict if {
	some layer, name
	speaks_here(layer)
	some spoken in data.policies[layer][name].verdicts
	verdict := object.union(spoken, {"policy": concat(".", [layer, name])})
}

# A tenant's own packages speak of its own calls alone.
speaks_here(layer) if not startswith(layer, "tenant_")

speaks_here(layer) if layer == concat("_", ["tenant", input.caller.tenant])
