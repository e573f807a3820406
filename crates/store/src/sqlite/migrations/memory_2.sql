-- The audiences that the words of a fragment came from, as the label of the turn that wrote
-- it had them; absent where nobody's turn did. It is part of the record, and of its link.
ALTER TABLE provenance ADD COLUMN label TEXT;
-- The same of all that a session was shown; absent for what was frozen before there were any.
ALTER TABLE memory_block ADD COLUMN label TEXT;
