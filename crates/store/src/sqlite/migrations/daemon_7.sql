-- The name that an agent's chains were begun with, where it is not its id: they are sealed by it, and
-- an agent that is called otherwise goes on with them. No two agents have the same.
CREATE TABLE born (
    agent TEXT NOT NULL PRIMARY KEY,
    name  TEXT NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;
