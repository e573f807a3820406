-- Where the message of a turn was said, where the key of its session does not tell; and the
-- ways it came in by that take something away, one a line. Usage has those as kind 4.
ALTER TABLE turn ADD COLUMN said_at TEXT;
ALTER TABLE turn ADD COLUMN ways TEXT;
