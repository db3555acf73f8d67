package policies.pack_data.sql_test

import data.policies.pack_data.sql
import rego.v2

said(doc) := out if {
	out := {[v.behavior, v.id, v.severity, v.reason] | some v in sql.verdicts} with input as doc
}

doing(verbs) := {
	"phase": "call",
	"tool": {"annotations": {"read_only": false}},
	"parsed": {"sql": {"verbs": array.concat(["select"], verbs), "multi": false, "unbounded": false, "unparsable": false}},
}

with_flag(name) := json.patch(doing([]), [{"op": "replace", "path": concat("", ["/parsed/sql/", name]), "value": true}])

lacking(doc, path) := json.remove(doc, [path])

result(doc) := json.patch(doc, [{"op": "replace", "path": "/phase", "value": "result"}])

ask(rule, severity, reason) := {["ask", concat(".", ["sql", rule]), severity, reason]}

unparsable := ask("unparsable", "medium", "the SQL cannot be read for certain, so what it does is not known")

test_unparsable_fires if said(with_flag("unparsable")) == unparsable

test_unparsable_silent if {
	said(doing([])) == set()
	said(result(with_flag("unparsable"))) == set()
}

test_unparsable_absent if {
	every path in ["/parsed/sql/unparsable", "/parsed/sql", "/parsed"] {
		said(lacking(doing([]), path)) == unparsable
	}
	said(lacking(with_flag("unparsable"), "/phase")) == set()
}

test_schema_fires if {
	every verb in ["create", "alter", "drop", "truncate", "rename"] {
		said(doing([verb])) == ask("schema", "high", sprintf("SQL %s changes or removes what the data is kept in", [verb]))
	}
}

test_schema_silent if {
	said(doing(["insert", "update", "delete"])) == set()
	said(result(doing(["drop"]))) == set()
}

test_schema_absent if {
	said(lacking(doing(["drop"]), "/parsed/sql/verbs")) == set()
	said(lacking(doing(["drop"]), "/phase")) == set()
}

test_rights_fires if {
	every verb in ["grant", "revoke", "deny", "reassign", "security"] {
		said(doing([verb])) == ask("rights", "high", sprintf("SQL %s changes who may do what", [verb]))
	}
}

test_rights_silent if {
	said(doing(["set"])) == set()
	said(result(doing(["grant"]))) == set()
}

test_rights_absent if {
	said(lacking(doing(["grant"]), "/parsed/sql/verbs")) == set()
	said(lacking(doing(["grant"]), "/phase")) == set()
}

test_unbounded_fires if said(with_flag("unbounded")) == ask("unbounded", "high", "an UPDATE or DELETE has no WHERE that picks rows")

test_unbounded_silent if {
	said(doing(["delete"])) == set()
	said(result(with_flag("unbounded"))) == set()
}

test_unbounded_absent if {
	said(lacking(doing([]), "/parsed/sql/unbounded")) == set()
	said(lacking(with_flag("unbounded"), "/phase")) == set()
}

test_multi_fires if said(with_flag("multi")) == ask("multi", "medium", "one SQL text holds more than one statement")

test_multi_silent if {
	said(doing(["insert"])) == set()
	said(result(with_flag("multi"))) == set()
}

test_multi_absent if {
	said(lacking(doing([]), "/parsed/sql/multi")) == set()
	said(lacking(with_flag("multi"), "/phase")) == set()
}

test_program_fires if {
	every verb in ["execute", "exec", "call", "do", "system", "load", "shutdown"] {
		said(doing([verb])) == ask("program", "high", sprintf("SQL %s runs something whose effect cannot be seen here", [verb]))
	}
}

test_program_silent if {
	said(doing(["update"])) == set()
	said(result(doing(["call"]))) == set()
}

test_program_absent if {
	said(lacking(doing(["call"]), "/parsed/sql/verbs")) == set()
	said(lacking(doing(["call"]), "/phase")) == set()
}

test_bulk_fires if {
	every verb in ["copy", "unload", "export", "select_into", "attach", "backup", "restore"] {
		said(doing([verb])) == ask("bulk", "high", sprintf("SQL %s moves data in bulk, past what the tool returns", [verb]))
	}
}

test_bulk_silent if {
	said(doing(["insert"])) == set()
	said(result(doing(["copy"]))) == set()
}

test_bulk_absent if {
	said(lacking(doing(["copy"]), "/parsed/sql/verbs")) == set()
	said(lacking(doing(["copy"]), "/phase")) == set()
}

reader(verbs) := json.patch(doing(verbs), [{"op": "replace", "path": "/tool/annotations/read_only", "value": true}])

test_reader_writes_fires if {
	every verb in ["insert", "update", "delete", "merge"] {
		said(reader([verb])) == ask("reader_writes", "high", sprintf("the tool is declared to only read, and the SQL has the verb %s", [verb]))
	}
}

test_reader_writes_silent if {
	every verb in ["show", "describe", "values", "pragma", "set"] {
		said(reader([verb])) == set()
	}
	said(doing(["insert"])) == set()
	said(result(reader(["insert"]))) == set()
}

test_reader_writes_absent if {
	every path in ["/tool/annotations/read_only", "/parsed/sql/verbs", "/phase"] {
		said(lacking(reader(["insert"]), path)) == set()
	}
}
