-- What a grant allows, for the people who look at it and take it back. `asked_in` is the
-- session whose words `what` has: they go when it is forgotten.
ALTER TABLE approval_grant ADD COLUMN id TEXT NOT NULL DEFAULT '';
ALTER TABLE approval_grant ADD COLUMN tool TEXT NOT NULL DEFAULT '';
ALTER TABLE approval_grant ADD COLUMN rule TEXT NOT NULL DEFAULT '';
ALTER TABLE approval_grant ADD COLUMN what TEXT NOT NULL DEFAULT '';
ALTER TABLE approval_grant ADD COLUMN asked_in INTEGER NOT NULL DEFAULT 0;
UPDATE approval_grant SET id = lower(hex(substr(invocation, 1, 6))) || '-' || session;
-- What a key was used for, by its hash; empty for those from before.
ALTER TABLE idempotency ADD COLUMN request BLOB NOT NULL DEFAULT x'';
