-- Turns that a later one took the place of: kept, and no longer part of what the model sees.
ALTER TABLE turn ADD COLUMN replaced INTEGER NOT NULL DEFAULT 0;
CREATE INDEX turn_replaced ON turn (session) WHERE replaced = 1;
