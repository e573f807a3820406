CREATE TABLE agent (
    id         TEXT NOT NULL PRIMARY KEY,
    state      TEXT NOT NULL,
    generation INTEGER NOT NULL,
    digest     BLOB NOT NULL,
    authority  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE wake (
    agent TEXT NOT NULL PRIMARY KEY,
    at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX wake_by_time ON wake (at, agent);

-- Records waiting for their agent's database to open. Ids are never used twice: the agent's
-- database remembers the highest it took in.
CREATE TABLE audit_queue (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    agent      TEXT NOT NULL,
    at         INTEGER NOT NULL,
    actor      TEXT NOT NULL,
    kind       TEXT NOT NULL,
    generation INTEGER NOT NULL,
    content    TEXT NOT NULL
) STRICT;
CREATE INDEX audit_queue_by_agent ON audit_queue (agent, id);

-- Where each agent's audit chain ends, at least.
CREATE TABLE anchor (
    agent TEXT NOT NULL PRIMARY KEY,
    seq   INTEGER NOT NULL,
    mac   BLOB NOT NULL,
    seal  BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Events of platforms and whose they became. Ids only.
CREATE TABLE event (
    platform    TEXT NOT NULL,
    account     TEXT NOT NULL,
    event       TEXT NOT NULL,
    agent       TEXT NOT NULL,
    reserved_at INTEGER NOT NULL,
    PRIMARY KEY (platform, account, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_by_agent ON event (agent);
CREATE INDEX event_by_time ON event (reserved_at);

CREATE TABLE value (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
