-- When a request for what is next was first made, while the platform may have it under its key:
-- keys are recognised for some time only.
ALTER TABLE origin ADD COLUMN tried_at INTEGER;
ALTER TABLE delivery ADD COLUMN tried_at INTEGER;
