-- The highest claim seen: one row.
CREATE TABLE fence (
    one   INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    epoch INTEGER NOT NULL,
    owner TEXT NOT NULL
) STRICT;
INSERT INTO fence VALUES (1, 0, '');
