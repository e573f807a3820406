-- What an agent does by the clock. `spec` is what the job says, in whatever form the layer above
-- uses; none for one of the configuration, of which only how far it has come is kept.
CREATE TABLE job (
    name       TEXT    NOT NULL PRIMARY KEY,
    spec       TEXT,
    owner      TEXT    NOT NULL,
    place      TEXT,
    state      INTEGER NOT NULL,
    why        TEXT,
    handled_at INTEGER NOT NULL,
    runs       INTEGER NOT NULL,
    failures   INTEGER NOT NULL,
    retry_at   INTEGER,
    made_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Its runs. One moment is run for once.
CREATE TABLE job_run (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    job          TEXT    NOT NULL,
    scheduled_at INTEGER NOT NULL,
    began_at     INTEGER NOT NULL,
    ended_at     INTEGER,
    turn         INTEGER,
    outcome      TEXT,
    why          TEXT
) STRICT;
CREATE UNIQUE INDEX job_run_moment ON job_run (job, scheduled_at);
CREATE INDEX job_run_open ON job_run (id) WHERE ended_at IS NULL;
