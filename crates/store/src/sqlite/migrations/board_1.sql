-- A board: its cards, what they wait for, what was written on them, who worked on them, and what
-- became of them. A card's version counts its changes: whoever changes it says which one they saw.
CREATE TABLE card (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    version      INTEGER NOT NULL,
    title        TEXT    NOT NULL,
    body         TEXT    NOT NULL,
    label        TEXT    NOT NULL,
    author       TEXT    NOT NULL,
    author_agent TEXT,
    place        TEXT,
    status       TEXT    NOT NULL,
    block        TEXT,
    why          TEXT,
    assignee     TEXT,
    reviewer     TEXT,
    priority     INTEGER NOT NULL,
    due_at       INTEGER,
    start_at     INTEGER,
    tags         TEXT    NOT NULL,
    split_from   INTEGER REFERENCES card (id),
    depth        INTEGER NOT NULL,
    worker       TEXT,
    run          INTEGER NOT NULL,
    lease_until  INTEGER,
    failures     INTEGER NOT NULL,
    reworks      INTEGER NOT NULL,
    result       TEXT,
    result_label TEXT,
    result_by    TEXT,
    tokens       INTEGER NOT NULL,
    usd_micros   INTEGER NOT NULL,
    made_at      INTEGER NOT NULL,
    changed_at   INTEGER NOT NULL,
    done_at      INTEGER,
    request      TEXT
) STRICT;
CREATE INDEX card_status ON card (status, priority DESC, id);
CREATE INDEX card_split ON card (split_from) WHERE split_from IS NOT NULL;
CREATE UNIQUE INDEX card_request ON card (request) WHERE request IS NOT NULL;

-- What a card waits for.
CREATE TABLE need (
    card  INTEGER NOT NULL REFERENCES card (id),
    needs INTEGER NOT NULL REFERENCES card (id),
    PRIMARY KEY (card, needs)
) STRICT, WITHOUT ROWID;
CREATE INDEX need_of ON need (needs);

CREATE TABLE comment (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    card   INTEGER NOT NULL REFERENCES card (id),
    author TEXT    NOT NULL,
    agent  TEXT,
    at     INTEGER NOT NULL,
    label  TEXT    NOT NULL,
    text   TEXT    NOT NULL
) STRICT;
CREATE INDEX comment_card ON comment (card, id);

-- Files, by the hash of what is in them.
CREATE TABLE file (
    card   INTEGER NOT NULL REFERENCES card (id),
    hash   TEXT    NOT NULL,
    name   TEXT    NOT NULL,
    author TEXT    NOT NULL,
    agent  TEXT,
    at     INTEGER NOT NULL,
    label  TEXT    NOT NULL,
    bytes  BLOB    NOT NULL,
    PRIMARY KEY (card, hash)
) STRICT;

-- Who worked on a card, one after the other.
CREATE TABLE run (
    card     INTEGER NOT NULL REFERENCES card (id),
    run      INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    worker   TEXT    NOT NULL,
    began_at INTEGER NOT NULL,
    beat_at  INTEGER NOT NULL,
    note     TEXT,
    ended_at INTEGER,
    outcome  TEXT,
    why      TEXT,
    turn     INTEGER,
    PRIMARY KEY (card, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_open ON run (worker) WHERE ended_at IS NULL;

-- All that happened. Rows are only ever added.
CREATE TABLE event (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    card   INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    actor  TEXT    NOT NULL,
    kind   TEXT    NOT NULL,
    detail TEXT    NOT NULL
) STRICT;
CREATE INDEX event_card ON event (card, seq);

-- What the chat that asked is still to be told.
CREATE TABLE notice (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    card  INTEGER NOT NULL REFERENCES card (id),
    run   INTEGER NOT NULL,
    agent TEXT    NOT NULL,
    place TEXT    NOT NULL,
    asker TEXT    NOT NULL,
    label TEXT    NOT NULL,
    text  TEXT    NOT NULL
) STRICT;
