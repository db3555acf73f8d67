# METADATA
# title: What may be released
# description: A result that was full of personal data waits for a person (A24). What is released is the cleaned form in any case.
package policies.baseline.result

import rego.v2

# METADATA
# title: Much personal data in a result
# description: A result held at least baseline.much_pii pieces of personal data.
# labels: {owasp: ASI02, severity: medium}
verdicts contains {
	"id": "result.much_pii",
	"behavior": "ask",
	"reason": sprintf("%d pieces of personal data were found in the result", [found]),
	"severity": "medium",
} if {
	input.phase == "result"
	found := input.result.findings.pii
	found >= data.ostiary.baseline.much_pii
}
