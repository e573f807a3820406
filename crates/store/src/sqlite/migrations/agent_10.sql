-- The model that people chose to have answer in a conversation, as its operator calls it.
ALTER TABLE session ADD COLUMN model TEXT;
