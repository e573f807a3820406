-- How turns went: what was waited for, which models were asked and how long they took, which
-- stages a call passed, why one failed. Never what was said. The text is of whoever runs turns.
CREATE TABLE turn_note (
    turn   INTEGER NOT NULL,
    number INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    note   TEXT NOT NULL,
    PRIMARY KEY (turn, number)
) STRICT, WITHOUT ROWID;
