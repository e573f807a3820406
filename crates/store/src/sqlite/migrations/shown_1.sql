-- What models were shown, so that it can be put together again byte for byte. A part is there once,
-- whatever it is a part of; a frame is a list of parts; a call has a frame, and a recipe in the
-- words of whoever runs turns, whose beginning may be that of an earlier call.
CREATE TABLE shown_part (
    id    INTEGER PRIMARY KEY,
    hash  BLOB NOT NULL UNIQUE,
    bytes BLOB NOT NULL
) STRICT;

-- `tag` is gone where a part was erased: nobody is shown just this any more.
CREATE TABLE shown_frame (
    id  INTEGER PRIMARY KEY,
    tag BLOB UNIQUE
) STRICT;

-- `chain` are the scopes of a part that is memory; `part` is gone where it was erased.
CREATE TABLE shown_frame_part (
    frame  INTEGER NOT NULL,
    number INTEGER NOT NULL,
    name   TEXT NOT NULL,
    chain  TEXT,
    part   INTEGER,
    PRIMARY KEY (frame, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX shown_frame_part_of ON shown_frame_part (part);

CREATE TABLE shown_call (
    turn        INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    frame       INTEGER NOT NULL,
    model       TEXT NOT NULL,
    sha256      BLOB,
    bytes       INTEGER NOT NULL,
    base_turn   INTEGER,
    base_number INTEGER,
    base_bytes  INTEGER,
    tail        BLOB,
    PRIMARY KEY (turn, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX shown_call_in ON shown_call (frame);
