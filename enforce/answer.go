package enforce

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"ostiary"
	"ostiary/agent"
	"ostiary/audit"
	"ostiary/decision"
	"ostiary/decision/permit"
	"ostiary/enforce/wire"
	"ostiary/queue"
	"ostiary/tool"
)

// answer writes the decision of a call for the wire, with a permit where one is due.
func (e *Enforcer) answer(c *call) (wire.Decision, error) {
	doc := wire.DecisionOf(c.decision)
	if c.item != nil {
		doc.Attach(*c.item)
		return doc, e.attachApproval(&doc, *c.item)
	}
	if c.decision.Behavior == decision.Allow && c.req.WantPermit {
		token, err := e.policyPermit(c)
		if err != nil {
			return doc, err
		}
		doc.Permit = &token
	}
	return doc, nil
}

// attachApproval adds the permit of an approved call, or the content of what was approved otherwise.
func (e *Enforcer) attachApproval(doc *wire.Decision, item queue.Item) error {
	if item.State != queue.Approved {
		return nil
	}
	switch item.Kind {
	case queue.KindResult:
		doc.ContentBlocks = append(doc.ContentBlocks, wire.ContentBlock{Type: "text", Text: string(item.Input)})
		return nil
	case queue.KindConclusion:
		return doc.AttachConclusion(item)
	}
	token, err := e.reviewPermit(item)
	if err != nil {
		return err
	}
	doc.Permit = &token
	return nil
}

// reviewPermit mints a permit for an approved item; each has the item's jti, so all of them together are good once.
func (e *Enforcer) reviewPermit(item queue.Item) (string, error) {
	input, digest := item.Approvable()
	kind := permit.KindApprove
	if len(item.EditedInput) > 0 {
		kind = permit.KindEdit
	}
	minted := audit.Event{
		Class: audit.PermitMinted, Tenant: item.Tenant, Agent: item.Agent, Session: item.Session, InvocationID: item.InvocationID,
		DecisionID: item.DecisionID, ReviewID: item.ID, PermitID: item.PermitID, Tool: item.Tool.String(),
	}
	if err := e.recordDurable(minted); err != nil {
		return "", err
	}
	return e.mint(permit.Grant{
		ID: item.PermitID, Tenant: item.Tenant, Agent: item.Agent, Session: item.Session, Tool: toolClaim(item.Tool), Definition: item.Definition,
		ActionDigest: digest, BytesDigest: tool.BytesDigest(input), ViewDigest: item.ViewDigest, Revision: item.PolicyRevision, Review: item.ID, Kind: kind,
	}, item.ExpiresAt)
}

func (e *Enforcer) policyPermit(c *call) (string, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return "", fmt.Errorf("enforce: permit id: %w", err)
	}
	minted := audit.Event{
		Class: audit.PermitMinted, Tenant: c.who.Tenant, Agent: c.who.Subject, Session: c.req.SessionID, InvocationID: c.req.InvocationID,
		DecisionID: c.decision.ID, PermitID: "pmt_" + id.String(), Tool: c.req.Tool.String(),
	}
	if err := e.record(minted); err != nil {
		return "", err
	}
	return e.mint(permit.Grant{
		ID: "pmt_" + id.String(), Tenant: c.who.Tenant, Agent: c.who.Subject, Session: c.req.SessionID, Tool: toolClaim(c.req.Tool),
		Definition: c.tool.Digest, ActionDigest: c.digest, BytesDigest: tool.BytesDigest(c.req.Input), Revision: c.decision.Revision, Kind: permit.KindPolicy,
	}, time.Time{})
}

func (e *Enforcer) mint(g permit.Grant, notAfter time.Time) (string, error) {
	token, err := e.cfg.Permits.Mint(g, notAfter)
	if err != nil {
		return "", ostiary.Wrap(ostiary.KindNoKey, err, "the permit could not be signed")
	}
	return token, nil
}

// toolClaim writes a tool's name so that two names cannot read alike.
func toolClaim(n tool.Name) string { return fmt.Sprintf("%q/%q", n.Namespace, n.Name) }

// ofItem is the decision document of a review as it stands.
func (e *Enforcer) ofItem(item queue.Item) (wire.Decision, error) {
	asked := decision.Decision{
		ID: item.DecisionID, InvocationID: item.InvocationID, Behavior: decision.Ask, Source: decision.SourcePolicy, Reasons: item.Reasons,
		Obligations: item.Obligations, Revision: item.PolicyRevision, ActionDigest: item.ActionDigest, DecidedAt: item.OpenedAt,
	}
	if len(item.Reasons) > 0 {
		asked.Reason = item.Reasons[0].Reason
	}
	if !item.ResolvedAt.IsZero() {
		asked.DecidedAt = item.ResolvedAt
	}
	doc := wire.DecisionOf(item.Decided(asked))
	doc.Attach(item)
	return doc, e.attachApproval(&doc, item)
}

// owns refuses an item that belongs to another agent, in the words of one that does not exist.
func owns(who agent.Identity, item queue.Item) error {
	if who.Role == agent.RoleAgent && item.Agent != who.Subject || pinnedElsewhere(who, item.Session) {
		return ostiary.Errorf(ostiary.KindNotFound, "there is no such review")
	}
	return nil
}

// pinnedElsewhere reports that a credential is for one session, and not for this one.
func pinnedElsewhere(who agent.Identity, session string) bool {
	return who.Session != "" && who.Session != session
}
