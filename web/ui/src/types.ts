// What the API answers (wire.md §5, Console).

export interface Run { kind: string; text: string; code?: string; says?: string; len?: number; at?: number }

export interface Argument {
  pointer: string; name?: Run[]; type: string; role?: string; origin?: string; bytes: number; runes: number; runs: Run[];
}

export interface Reason { id: string; policy: string; reason: string; severity?: string; pointer?: string }

export interface Ruling { kind: string; person: string; reason_code?: string; reason?: string; text?: string; at: string }

export type Tier = 'low' | 'medium' | 'high';

export interface Risk { read_only: boolean; idempotent: boolean; destructive: boolean; open_world: boolean; sensitive_sink: boolean }

export interface Item {
  id: string; state: string; version: number; action_digest: string; view_digest: string; kind: string;
  tool: { namespace: string; name: string }; agent: string; owner?: string; session_id: string; tier: Tier; summary: string;
  risk: Risk; risk_source: string; arguments?: Argument[]; raw?: string; reasons: Reason[] | null;
  provenance?: { pointer: string; origin: string; source?: string }[];
  justification?: string; badges: string[] | null; obligations: string[] | null; uninspectable: boolean; rulings: Ruling[];
  approved_view?: Argument[]; approved_digest?: string; closed_by?: string;
  opened_at: string; expires_at: string; resolved_at?: string; now: string;
}

export interface Page { items: Item[]; next_cursor: string; total: number }

export interface Me { subject: string; name: string; role: string; tenant: string; can_rule: boolean; expires_at?: string }

export interface AuditEvent {
  id: string; time: string; event: string; tool?: string; behavior?: string; reason?: string; state?: string; ruling?: string;
  person?: string; status?: string; review_id?: string; labels?: string[]; kind?: string; rules?: string[];
}

export interface Verdict {
  behavior: string; source: string; reason: string; reasons: Reason[]; arguments: Argument[]; obligations: string[]; uninspectable: boolean;
}

export interface Check { name: string; status: string; detail: string; fix?: string }

export interface Health { status: string; checks: Check[] }

export interface Problem {
  kind: string; status: number; detail?: string; fix?: string; pointer?: string; request_id?: string; winner?: Ruling; item?: Item; missing?: string[];
}
