-- What entries of memory (kind 0) and messages (kind 1) mean, as a model sees it: a vector of small
-- numbers, with its scale in front. Only where an agent's operator wants it. The scope comes first,
-- and a search reads the rows of its own scope alone.
CREATE TABLE vector (
    scope  INTEGER NOT NULL,
    kind   INTEGER NOT NULL,
    item   INTEGER NOT NULL,
    model  INTEGER NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (scope, kind, item)
) STRICT, WITHOUT ROWID;
-- How far the messages of a session were looked through for those of a scope.
CREATE TABLE looked_through (
    scope   INTEGER NOT NULL,
    session INTEGER NOT NULL,
    model   INTEGER NOT NULL,
    upto    INTEGER NOT NULL,
    PRIMARY KEY (scope, session)
) STRICT, WITHOUT ROWID;
-- Whatever takes the words away takes what they mean, in the same change.
CREATE TRIGGER fragment_takes_its_vector AFTER DELETE ON fragment BEGIN
    DELETE FROM vector WHERE scope = old.scope AND kind = 0 AND item = old.id;
END;
CREATE TRIGGER message_takes_its_vector AFTER DELETE ON message BEGIN
    DELETE FROM vector WHERE scope = old.scope AND kind = 1 AND item = old.id;
END;
