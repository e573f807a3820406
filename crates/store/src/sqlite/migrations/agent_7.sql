-- Replies that end before their end: 0 whole, 1 the model's limit, 2 withheld by the provider.
ALTER TABLE turn ADD COLUMN cut INTEGER NOT NULL DEFAULT 0;
