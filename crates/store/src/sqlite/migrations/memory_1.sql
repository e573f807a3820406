-- What is remembered, scope first. A row never changes but for its place: other words are
-- another fragment. The salt goes with the row, so that the commitment in `provenance` then
-- says nothing about the words.
CREATE TABLE fragment (
    scope   INTEGER NOT NULL,
    target  INTEGER NOT NULL,
    id      INTEGER NOT NULL,
    place   INTEGER NOT NULL,
    salt    BLOB NOT NULL,
    blocked TEXT,
    text    TEXT NOT NULL,
    PRIMARY KEY (scope, target, id)
) STRICT, WITHOUT ROWID;

-- Where fragments come from and how they went: a chain. A fragment's id is the record that
-- brought it. The kind is 0 learned, 1 removed, 2 forgotten; `about` is the fragment of the
-- latter two.
CREATE TABLE provenance (
    seq         INTEGER NOT NULL PRIMARY KEY,
    kind        INTEGER NOT NULL,
    about       INTEGER,
    scope       TEXT NOT NULL,
    target      INTEGER NOT NULL,
    source      INTEGER NOT NULL,
    principal   TEXT NOT NULL,
    platform    TEXT NOT NULL,
    session     INTEGER,
    message     INTEGER,
    call        TEXT,
    generation  INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    approved_by TEXT,
    parents     BLOB NOT NULL,
    commitment  BLOB NOT NULL,
    prev        BLOB NOT NULL,
    mac         BLOB NOT NULL
) STRICT;
CREATE TRIGGER provenance_keeps_records BEFORE DELETE ON provenance BEGIN
    SELECT raise(ABORT, 'provenance is never removed');
END;
CREATE TRIGGER provenance_never_changes BEFORE UPDATE ON provenance BEGIN
    SELECT raise(ABORT, 'provenance is never changed');
END;

-- Which fragment's words came out of which: replaced, put together or shared.
CREATE TABLE lineage (
    parent INTEGER NOT NULL,
    child  INTEGER NOT NULL,
    PRIMARY KEY (parent, child)
) STRICT, WITHOUT ROWID;

-- Messages from which nothing is learned again.
CREATE TABLE tombstone (
    session INTEGER NOT NULL,
    message INTEGER NOT NULL,
    PRIMARY KEY (session, message)
) STRICT, WITHOUT ROWID;

-- What the mirror of a scope's target was last made of, and before that: the hash of its
-- bytes, and the fragments in it as 8 bytes each.
CREATE TABLE mirror (
    scope      INTEGER NOT NULL,
    target     INTEGER NOT NULL,
    digest     BLOB NOT NULL,
    ids        BLOB NOT NULL,
    old_digest BLOB NOT NULL,
    old_ids    BLOB NOT NULL,
    PRIMARY KEY (scope, target)
) STRICT, WITHOUT ROWID;

-- What a session was shown of memory when it began.
CREATE TABLE memory_block (
    session INTEGER NOT NULL,
    chain   TEXT NOT NULL,
    text    TEXT NOT NULL,
    PRIMARY KEY (session, chain)
) STRICT, WITHOUT ROWID;

-- The index over fragments: as `posting`, with the statistics of each scope beside it.
CREATE TABLE fragment_posting (
    scope    INTEGER NOT NULL,
    term     TEXT NOT NULL,
    fragment INTEGER NOT NULL,
    weight   INTEGER NOT NULL,
    PRIMARY KEY (scope, term, fragment)
) STRICT, WITHOUT ROWID;
CREATE TABLE fragment_scope (
    scope     INTEGER NOT NULL PRIMARY KEY,
    documents INTEGER NOT NULL,
    terms     INTEGER NOT NULL
) STRICT;
