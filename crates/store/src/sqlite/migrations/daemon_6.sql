-- What a record that waits is about. Those that waited in older versions were all about their
-- agent as a whole.
ALTER TABLE audit_queue ADD COLUMN about TEXT NOT NULL DEFAULT 'agent';
