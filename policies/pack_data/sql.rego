# METADATA
# title: What SQL does
# description: |
#   The verbs of SQL in arguments and in the words of database clients. Where a read would return very much is not decided:
#   how large a result will be is not known before the call, and a LIMIT says little. The result rules judge what came back.
package policies.pack_data.sql

import rego.v2

# METADATA
# title: No readable SQL
# description: A text that should be SQL does not end, does not begin with a statement, is built at run time, or would be read differently by different databases.
# labels: {owasp: [ASI02, ASI05], severity: medium}
verdicts contains {
	"id": "sql.unparsable",
	"behavior": "ask",
	"reason": "the SQL cannot be read for certain, so what it does is not known",
	"severity": "medium",
} if {
	input.phase == "call"
	not input.parsed.sql.unparsable == false
}

# METADATA
# title: A change of the schema
# description: DDL (create, alter, drop, truncate, rename and the like).
# labels: {owasp: ASI02, severity: high}
verdicts contains {
	"id": "sql.schema",
	"behavior": "ask",
	"reason": sprintf("SQL %s changes or removes what the data is kept in", [verb]),
	"severity": "high",
} if {
	input.phase == "call"
	some verb in input.parsed.sql.verbs
	verb in {"create", "alter", "drop", "truncate", "rename", "undrop", "comment", "refresh", "msck", "optimize", "cluster", "reindex", "vacuum"}
}

# METADATA
# title: A change of rights
# description: DCL (grant, revoke, deny, reassign) and what changes who a session is.
# labels: {owasp: ASI03, severity: high}
verdicts contains {
	"id": "sql.rights",
	"behavior": "ask",
	"reason": sprintf("SQL %s changes who may do what", [verb]),
	"severity": "high",
} if {
	input.phase == "call"
	some verb in input.parsed.sql.verbs
	verb in {"grant", "revoke", "deny", "reassign", "security"}
}

# METADATA
# title: A write without bounds
# description: An UPDATE or DELETE has no WHERE, or one in which no column takes part (WHERE 1 = 1).
# labels: {owasp: ASI02, severity: high}
verdicts contains {
	"id": "sql.unbounded",
	"behavior": "ask",
	"reason": "an UPDATE or DELETE has no WHERE that picks rows",
	"severity": "high",
} if {
	input.phase == "call"
	input.parsed.sql.unbounded
}

# METADATA
# title: More than one statement
# description: One text holds several statements, which is how injected SQL rides along.
# labels: {owasp: [ASI01, ASI02], severity: medium}
verdicts contains {
	"id": "sql.multi",
	"behavior": "ask",
	"reason": "one SQL text holds more than one statement",
	"severity": "medium",
} if {
	input.phase == "call"
	input.parsed.sql.multi
}

# METADATA
# title: Programs of the database
# description: A procedure, a block or prepared text runs (call, exec, do), or a function that reaches the server's files, network or programs.
# labels: {owasp: ASI05, severity: high}
verdicts contains {
	"id": "sql.program",
	"behavior": "ask",
	"reason": sprintf("SQL %s runs something whose effect cannot be seen here", [verb]),
	"severity": "high",
} if {
	input.phase == "call"
	some verb in input.parsed.sql.verbs
	verb in {"execute", "exec", "call", "do", "system", "install", "load", "kill", "shutdown", "reconfigure", "dbcc"}
}

# METADATA
# title: Data in bulk
# description: Whole tables go to or come from a file, a bucket, another database or a new table (copy, unload, into outfile, select into, attach, backup, restore).
# labels: {owasp: ASI02, severity: high}
verdicts contains {
	"id": "sql.bulk",
	"behavior": "ask",
	"reason": sprintf("SQL %s moves data in bulk, past what the tool returns", [verb]),
	"severity": "high",
} if {
	input.phase == "call"
	some verb in input.parsed.sql.verbs
	verb in {"copy", "unload", "export", "import", "select_into", "attach", "backup", "restore", "bulk", "put", "get"}
}

# METADATA
# title: A reader that writes
# description: A tool that is declared to only read gets SQL that does more than read.
# labels: {owasp: [ASI02, ASI04], severity: high}
verdicts contains {
	"id": "sql.reader_writes",
	"behavior": "ask",
	"reason": sprintf("the tool is declared to only read, and the SQL has the verb %s", [verb]),
	"severity": "high",
} if {
	input.phase == "call"
	input.tool.annotations.read_only
	some verb in input.parsed.sql.verbs
	not verb in {"select", "show", "describe", "desc", "values", "table", "pragma", "set", "use", "fetch", "close", "move", "print", "listen"}
}
