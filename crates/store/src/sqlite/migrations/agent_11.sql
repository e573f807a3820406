-- Whether somebody asked that the older part of a conversation becomes notes.
ALTER TABLE session ADD COLUMN notes_wished INTEGER NOT NULL DEFAULT 0;
