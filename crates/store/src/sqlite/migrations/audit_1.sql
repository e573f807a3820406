-- The audit chain. Content and salt are null once erased, nothing else ever changes.
CREATE TABLE audit (
    seq        INTEGER NOT NULL PRIMARY KEY,
    at         INTEGER NOT NULL,
    actor      TEXT NOT NULL,
    kind       TEXT NOT NULL,
    generation INTEGER NOT NULL,
    content    TEXT,
    salt       BLOB,
    commitment BLOB NOT NULL,
    prev       BLOB NOT NULL,
    mac        BLOB NOT NULL
) STRICT;
CREATE TRIGGER audit_keeps_records BEFORE DELETE ON audit BEGIN
    SELECT raise(ABORT, 'audit records are never removed');
END;
CREATE TRIGGER audit_changes_only_by_erasure BEFORE UPDATE ON audit
WHEN NOT (NEW.content IS NULL AND NEW.salt IS NULL AND NEW.seq IS OLD.seq AND NEW.at IS OLD.at
    AND NEW.actor IS OLD.actor AND NEW.kind IS OLD.kind AND NEW.generation IS OLD.generation
    AND NEW.commitment IS OLD.commitment AND NEW.prev IS OLD.prev AND NEW.mac IS OLD.mac)
BEGIN
    SELECT raise(ABORT, 'audit records change only by erasing their content');
END;
