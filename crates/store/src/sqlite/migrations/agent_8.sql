-- Files, and folders with all below them, that hold words of others, and whose. Paths in the
-- home of the daemon begin with no slash.
CREATE TABLE foreign_file (
    path      TEXT NOT NULL PRIMARY KEY,
    integrity TEXT NOT NULL
) STRICT, WITHOUT ROWID;
