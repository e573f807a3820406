-- The highest id of the daemon's audit queue that this chain has taken in: one row.
CREATE TABLE taken_in (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    id  INTEGER NOT NULL
) STRICT;
INSERT INTO taken_in VALUES (1, 0);
