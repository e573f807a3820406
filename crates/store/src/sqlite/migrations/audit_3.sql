-- Where the chain begins once its oldest records were dropped: after this one. Sealed with the key
-- of the chain, so that nobody without it can say that there was less.
CREATE TABLE audit_start (
    one  INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    seq  INTEGER NOT NULL,
    mac  BLOB NOT NULL,
    seal BLOB NOT NULL
) STRICT;
-- The last record of each scope that was dropped: what comes in that scope follows it.
CREATE TABLE audit_scope_start (
    scope TEXT NOT NULL PRIMARY KEY,
    seq   INTEGER NOT NULL,
    link  BLOB NOT NULL
) STRICT, WITHOUT ROWID;
DROP TRIGGER audit_keeps_records;
CREATE TRIGGER audit_keeps_records BEFORE DELETE ON audit
WHEN OLD.seq > coalesce((SELECT seq FROM audit_start), 0)
BEGIN
    SELECT raise(ABORT, 'audit records are removed from the beginning alone, and noted');
END;
