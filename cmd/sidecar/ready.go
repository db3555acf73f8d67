package main

import (
	"context"
	"fmt"

	"ostiary"
	"ostiary/decision"
	"ostiary/enforce/httpapi"
)

// ready checks what a decision needs.
func (a *app) ready(ctx context.Context) []httpapi.Check {
	checks := []httpapi.Check{policyCheck(a.policies.Status()), {Name: "audit log", Status: "ok"}, {Name: "state file", Status: "ok"}}
	if err := a.log.Check(); err != nil {
		checks[1] = httpapi.Check{Name: "audit log", Status: "failed", Detail: err.Error(), Fix: "free space in the data directory and restart the sidecar"}
	}
	if err := a.db.Read().PingContext(ctx); err != nil {
		checks[2] = httpapi.Check{Name: "state file", Status: "failed", Detail: err.Error(), Fix: "look at the disk of the data directory and restart the sidecar"}
	}
	return checks
}

// policyCheck tells of policies that stand, but not as somebody meant them to.
func policyCheck(s decision.PolicyStatus, refused error) httpapi.Check {
	check := httpapi.Check{Name: "policies", Status: "ok", Detail: fmt.Sprintf("revision %s; remembered %d of %d decisions", s.Revision, s.Remembered, s.Remembered+s.Evaluated)}
	switch {
	case refused != nil:
		said := ostiary.Public(refused)
		check.Status, check.Detail, check.Fix = "degraded", "the last change was refused, what was there stays in force: "+said.Msg, said.Fix
	case s.MemoOff:
		check.Status, check.Detail = "degraded", "remembered decisions differed from evaluated ones, so every call is evaluated anew"
		check.Fix = "report this with your policies; decisions are right, but slower"
	}
	return check
}
