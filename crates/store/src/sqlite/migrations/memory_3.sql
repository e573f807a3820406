-- Words that were forgotten, list by list, so that an old copy of a mirror that somebody saves
-- does not bring them back. Keyed hashes: they say nothing to whoever has only this file.
CREATE TABLE forgotten_text (
    scope  INTEGER NOT NULL,
    target INTEGER NOT NULL,
    tag    BLOB NOT NULL,
    PRIMARY KEY (scope, target, tag)
) STRICT, WITHOUT ROWID;

-- The same of words that were removed or replaced: they may still be forgotten.
CREATE TABLE removed_text (
    fragment INTEGER NOT NULL PRIMARY KEY,
    tag      BLOB NOT NULL
) STRICT;

-- Lists of which something was forgotten that may still be in their files.
CREATE TABLE erasure_due (
    scope  INTEGER NOT NULL,
    target INTEGER NOT NULL,
    PRIMARY KEY (scope, target)
) STRICT, WITHOUT ROWID;
