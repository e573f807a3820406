-- Who was let in while the agent ran, and what people said that has no turn yet.

-- Who asked to be let in. The code they were given is here only as a salted hash.
CREATE TABLE pairing_request (
    platform   TEXT NOT NULL,
    account    TEXT NOT NULL,
    user       TEXT NOT NULL,
    name       TEXT NOT NULL,
    place      TEXT NOT NULL,
    salt       BLOB NOT NULL,
    code       BLOB NOT NULL,
    asked_at   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (platform, account, user)
) STRICT, WITHOUT ROWID;

-- Who was let in.
CREATE TABLE pairing (
    platform TEXT NOT NULL,
    account  TEXT NOT NULL,
    user     TEXT NOT NULL,
    name     TEXT NOT NULL,
    by       TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (platform, account, user)
) STRICT, WITHOUT ROWID;

-- Codes that were wrong, by where they were for.
CREATE TABLE pairing_tries (
    platform TEXT NOT NULL PRIMARY KEY,
    wrong    INTEGER NOT NULL,
    until    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Chats that somebody allowed added us to.
CREATE TABLE joined_chat (
    platform TEXT NOT NULL,
    account  TEXT NOT NULL,
    chat     TEXT NOT NULL,
    by       TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (platform, account, chat)
) STRICT, WITHOUT ROWID;

-- Messages that are durable and in no turn yet: those that wait for one, and those that are
-- only context. What stands in `content` is for the layers above.
CREATE TABLE inbox (
    id       INTEGER PRIMARY KEY,
    session  TEXT NOT NULL,
    chat     TEXT NOT NULL,
    message  TEXT NOT NULL,
    sender   TEXT NOT NULL,
    waits    INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    content  TEXT NOT NULL
) STRICT;
CREATE INDEX inbox_by_session ON inbox (session, id);
CREATE INDEX inbox_by_message ON inbox (chat, message);

-- Events that were dealt with and became no turn of their own: their repetition is nothing new.
CREATE TABLE event_taken (
    who TEXT NOT NULL,
    key TEXT NOT NULL,
    at  INTEGER NOT NULL,
    PRIMARY KEY (who, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_taken_by_age ON event_taken (at);
