-- Which version of the program's terms the two indexes are made of: one row. What was indexed
-- before there was this is of version 1, and what is empty is of any.
CREATE TABLE search_index (
    one    INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    format INTEGER NOT NULL
) STRICT;
INSERT INTO search_index SELECT 1,
    iif(EXISTS (SELECT 1 FROM message) OR EXISTS (SELECT 1 FROM fragment), 1, 2);
