-- Whose matter each record is, in which conversation, and its place among those of the same scope
-- with what that chain holds of it. Rows of form 1 were written before this was noted: whose they
-- are is unknown, and they are in no scope's chain.
ALTER TABLE audit ADD COLUMN form INTEGER NOT NULL DEFAULT 1;
ALTER TABLE audit ADD COLUMN scope TEXT NOT NULL DEFAULT 'unknown';
ALTER TABLE audit ADD COLUMN session TEXT;
ALTER TABLE audit ADD COLUMN scope_seq INTEGER;
ALTER TABLE audit ADD COLUMN told BLOB;
ALTER TABLE audit ADD COLUMN scope_link BLOB;
DROP TRIGGER audit_changes_only_by_erasure;
CREATE TRIGGER audit_changes_only_by_erasure BEFORE UPDATE ON audit
WHEN NOT (NEW.content IS NULL AND NEW.salt IS NULL AND NEW.seq IS OLD.seq AND NEW.at IS OLD.at
    AND NEW.actor IS OLD.actor AND NEW.kind IS OLD.kind AND NEW.generation IS OLD.generation
    AND NEW.commitment IS OLD.commitment AND NEW.prev IS OLD.prev AND NEW.mac IS OLD.mac
    AND NEW.form IS OLD.form AND NEW.scope IS OLD.scope AND NEW.session IS OLD.session
    AND NEW.scope_seq IS OLD.scope_seq AND NEW.told IS OLD.told
    AND NEW.scope_link IS OLD.scope_link)
BEGIN
    SELECT raise(ABORT, 'audit records change only by erasing their content');
END;
CREATE INDEX audit_by_scope ON audit (scope, scope_seq);
CREATE INDEX audit_by_session ON audit (session) WHERE session IS NOT NULL;
CREATE INDEX audit_by_actor ON audit (actor);
CREATE INDEX audit_by_kind ON audit (kind);
CREATE INDEX audit_by_time ON audit (at);
