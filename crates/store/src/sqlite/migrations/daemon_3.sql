-- What each agent used on the last day it used anything, as of when its database was last
-- closed. An agent in `busy` may have used more since.
CREATE TABLE spent (
    agent       TEXT NOT NULL PRIMARY KEY,
    day         INTEGER NOT NULL,
    turns       INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cached      INTEGER NOT NULL,
    reasoning   INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX spent_by_day ON spent (day);
