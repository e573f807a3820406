-- Waiting records are numbered for each agent alone: what it keeps of the number tells nothing
-- about how much happens to others. Numbers are never used twice: the agent's database remembers
-- the highest it took in.
ALTER TABLE audit_queue RENAME TO audit_queue_of_all;
DROP INDEX audit_queue_by_agent;
CREATE TABLE audit_queue (
    agent      TEXT NOT NULL,
    id         INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    actor      TEXT NOT NULL,
    kind       TEXT NOT NULL,
    generation INTEGER NOT NULL,
    content    TEXT NOT NULL,
    PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
INSERT INTO audit_queue SELECT agent, id, at, actor, kind, generation, content FROM audit_queue_of_all;
DROP TABLE audit_queue_of_all;

-- The last number that a record of each agent got.
CREATE TABLE audit_count (
    agent TEXT NOT NULL PRIMARY KEY,
    last  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO audit_count SELECT agent, max(id) FROM audit_queue GROUP BY agent;
