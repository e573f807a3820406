-- Where the reply of a turn goes, from its acceptance to its end. `provisional` is 0 while
-- nothing was shown of the reply, 1 while showing it may have begun, 2 once `shown` is what the
-- platform calls the message with what there is of it.
CREATE TABLE origin (
    turn        INTEGER NOT NULL PRIMARY KEY,
    session     INTEGER NOT NULL,
    key         BLOB    NOT NULL,
    platform    TEXT    NOT NULL,
    account     TEXT    NOT NULL,
    chat        TEXT    NOT NULL,
    chat_type   TEXT    NOT NULL,
    topic       TEXT,
    reply_to    TEXT,
    provisional INTEGER NOT NULL DEFAULT 0,
    shown       TEXT
) STRICT;
CREATE INDEX origin_session ON origin (session);

-- What is to be sent, one row a delivery. Its words are those of `message` in its session, or
-- `text`, or else what is to be said of a turn that ended without a reply. Ids are never used
-- twice: operators and buttons name them.
CREATE TABLE delivery (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session     INTEGER NOT NULL,
    turn        INTEGER,
    message     INTEGER,
    text        TEXT,
    key         BLOB    NOT NULL,
    platform    TEXT    NOT NULL,
    account     TEXT    NOT NULL,
    chat        TEXT    NOT NULL,
    chat_type   TEXT    NOT NULL,
    topic       TEXT,
    reply_to    TEXT,
    provisional INTEGER NOT NULL DEFAULT 0,
    shown       TEXT,
    name        TEXT,
    state       INTEGER NOT NULL DEFAULT 0,
    attempts    INTEGER NOT NULL DEFAULT 0,
    doubts      INTEGER NOT NULL DEFAULT 0,
    next_at     INTEGER NOT NULL,
    why         TEXT,
    queued_at   INTEGER NOT NULL,
    changed_at  INTEGER NOT NULL
) STRICT;
-- Those that are not over, chat by chat in their order.
CREATE INDEX delivery_open ON delivery (platform, account, chat, id) WHERE state < 3;
CREATE INDEX delivery_unsent ON delivery (id) WHERE state <> 3;
CREATE INDEX delivery_session ON delivery (session);
CREATE UNIQUE INDEX delivery_name ON delivery (name) WHERE name NOT NULL;

-- The parts of a delivery that the platform took: its name for each, and how far the words
-- reached, in bytes.
CREATE TABLE delivery_part (
    delivery INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    message  TEXT    NOT NULL,
    upto     INTEGER NOT NULL,
    PRIMARY KEY (delivery, number)
) STRICT, WITHOUT ROWID;

-- What the buttons under a delivery mean, by what comes back when one is pressed.
CREATE TABLE button (
    data     TEXT    NOT NULL PRIMARY KEY,
    delivery INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    label    TEXT    NOT NULL,
    meaning  TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX button_delivery ON button (delivery, number);
