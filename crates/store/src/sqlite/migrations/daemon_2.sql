-- Agents that may have unfinished turns.
CREATE TABLE busy (
    agent TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
