-- Calls that wait for somebody's approval: gone when answered.
CREATE TABLE approval (
    id         TEXT    NOT NULL PRIMARY KEY,
    turn       INTEGER NOT NULL,
    session    INTEGER NOT NULL,
    call       TEXT    NOT NULL,
    tool       TEXT    NOT NULL,
    invocation BLOB    NOT NULL,
    rule       TEXT    NOT NULL,
    what       TEXT    NOT NULL,
    principal  TEXT    NOT NULL,
    asked_at   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
-- Invocations that were allowed for longer than once: in one session, or (0) in all.
CREATE TABLE approval_grant (
    invocation BLOB    NOT NULL,
    session    INTEGER NOT NULL,
    by         TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (invocation, session)
) STRICT, WITHOUT ROWID;
