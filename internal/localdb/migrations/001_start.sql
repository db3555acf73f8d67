CREATE TABLE reviews (
  id            TEXT PRIMARY KEY,
  tenant        TEXT NOT NULL,
  session       TEXT NOT NULL,
  agent         TEXT NOT NULL,
  tool          TEXT NOT NULL,
  tier          TEXT NOT NULL,
  state         TEXT NOT NULL,
  action_digest TEXT NOT NULL,
  edited_digest TEXT NOT NULL DEFAULT '',
  text          TEXT NOT NULL,             -- what a search looks in: tool, agent, summary
  opened_at     INTEGER NOT NULL,          -- Unix milliseconds
  expires_at    INTEGER NOT NULL,
  doc           BLOB NOT NULL              -- the whole item as JSON
) STRICT;
CREATE INDEX reviews_action ON reviews (tenant, session, action_digest, opened_at);
CREATE INDEX reviews_edited ON reviews (tenant, session, edited_digest) WHERE edited_digest != '';
CREATE INDEX reviews_state ON reviews (tenant, state, opened_at);
CREATE INDEX reviews_due ON reviews (expires_at) WHERE state IN ('open', 'approved');
-- At most one live item per call: asking twice is impossible, whatever the code does.
CREATE UNIQUE INDEX reviews_live ON reviews (tenant, session, action_digest) WHERE state IN ('open', 'approved');

CREATE TABLE used_permits (
  jti     TEXT PRIMARY KEY,
  used_at INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
  tenant     TEXT NOT NULL,
  id         TEXT NOT NULL,
  agent      TEXT NOT NULL,
  tainted_at INTEGER NOT NULL,             -- Unix milliseconds, 0 while untainted
  epoch      TEXT NOT NULL,                -- the run of the process that holds its provenance index
  doc        BLOB NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX sessions_taint ON sessions (tenant, agent, tainted_at);

CREATE TABLE tools (
  tenant    TEXT NOT NULL,
  namespace TEXT NOT NULL,
  name      TEXT NOT NULL,
  doc       BLOB NOT NULL,
  PRIMARY KEY (tenant, namespace, name)
) STRICT;
