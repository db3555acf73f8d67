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
	some spoken in data.policies[layer][name].verdicts
	verdict := object.union(spoken, {"policy": concat(".", [layer, name])})
}
