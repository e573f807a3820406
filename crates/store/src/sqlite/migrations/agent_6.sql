-- Sub-agents. The session of a child knows the one it works for, and is no conversation.
ALTER TABLE session ADD COLUMN parent INTEGER;
CREATE INDEX session_parent ON session (parent) WHERE parent NOT NULL;
-- Turns of children: which turn began them, by which step, and which of that step's they are.
CREATE TABLE child (
    turn   INTEGER NOT NULL PRIMARY KEY,
    parent INTEGER NOT NULL,
    step   INTEGER NOT NULL,
    number INTEGER NOT NULL,
    UNIQUE (parent, step, number)
) STRICT;
