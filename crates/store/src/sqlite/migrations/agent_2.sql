-- Memory partitions by number, with what search needs to know of each: how many messages are
-- indexed, and how many terms they have in all.
CREATE TABLE scope (
    id        INTEGER NOT NULL PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE,
    documents INTEGER NOT NULL,
    terms     INTEGER NOT NULL
) STRICT;

-- Conversations. A row is written when one begins or ends, not when something is said in it.
CREATE TABLE session (
    id           INTEGER NOT NULL PRIMARY KEY,
    key          TEXT NOT NULL,
    scope        INTEGER NOT NULL,
    label        TEXT NOT NULL,
    title        TEXT,
    created_at   INTEGER NOT NULL,
    touched_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    forgotten    INTEGER NOT NULL DEFAULT 0,
    summary_upto INTEGER,
    summary      INTEGER
) STRICT;
CREATE UNIQUE INDEX session_current ON session (key) WHERE ended_at IS NULL;

-- Messages. The id is the session's in the upper and the place in the lower 32 bits, so that
-- a session's messages lie together and its end is one seek away.
CREATE TABLE message (
    id         INTEGER NOT NULL PRIMARY KEY,
    turn       INTEGER,
    role       INTEGER NOT NULL,
    scope      INTEGER NOT NULL,
    principal  TEXT NOT NULL,
    label      TEXT NOT NULL,
    generation INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    parts      BLOB NOT NULL
) STRICT;
CREATE TRIGGER message_never_changes BEFORE UPDATE ON message BEGIN
    SELECT raise(ABORT, 'messages are never changed');
END;

CREATE TABLE turn (
    id          INTEGER NOT NULL PRIMARY KEY,
    session     INTEGER NOT NULL,
    message     INTEGER NOT NULL,
    principal   TEXT NOT NULL,
    status      INTEGER NOT NULL,
    reply       INTEGER,
    error       TEXT,
    input       INTEGER NOT NULL DEFAULT 0,
    output      INTEGER NOT NULL DEFAULT 0,
    cached      INTEGER NOT NULL DEFAULT 0,
    reasoning   INTEGER NOT NULL DEFAULT 0,
    cost_micros INTEGER NOT NULL DEFAULT 0,
    accepted_at INTEGER NOT NULL,
    ended_at    INTEGER
) STRICT;
-- All turns before this one are finished: one row, moved now and then. Those after it are few,
-- and looking through them is cheaper than an index that every turn enters and leaves.
CREATE TABLE unfinished (
    one       INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    from_turn INTEGER NOT NULL
) STRICT;
INSERT INTO unfinished VALUES (1, 1);

-- Steps. The id is the turn's in the upper bits and the number in the lower 12.
CREATE TABLE step (
    id      INTEGER NOT NULL PRIMARY KEY,
    kind    INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    call    TEXT,
    name    TEXT,
    message INTEGER
) STRICT;

CREATE TABLE idempotency (
    who  TEXT NOT NULL,
    key  TEXT NOT NULL,
    turn INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    PRIMARY KEY (who, key)
) STRICT, WITHOUT ROWID;

-- Sums by day, for the agent (kind 0), each principal (1) and each scope (2). The day comes
-- first, so that what a turn adds to lies together.
CREATE TABLE usage (
    day         INTEGER NOT NULL,
    kind        INTEGER NOT NULL,
    name        TEXT NOT NULL,
    turns       INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cached      INTEGER NOT NULL,
    reasoning   INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL,
    PRIMARY KEY (day, kind, name)
) STRICT, WITHOUT ROWID;

-- The search index: which message of a scope has which term. The weight is the message's
-- length in terms, and in the lower 10 bits how often it has this one.
CREATE TABLE posting (
    scope   INTEGER NOT NULL,
    term    TEXT NOT NULL,
    message INTEGER NOT NULL,
    weight  INTEGER NOT NULL,
    PRIMARY KEY (scope, term, message)
) STRICT, WITHOUT ROWID;

-- Messages that are not in the index yet; search reads them as they are.
CREATE TABLE unindexed (
    message INTEGER NOT NULL PRIMARY KEY,
    scope   INTEGER NOT NULL,
    bytes   INTEGER NOT NULL
) STRICT;
