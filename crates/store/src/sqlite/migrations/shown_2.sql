-- BLAKE3, of earlier versions SHA-256: which one it is shows where it is compared.
ALTER TABLE shown_call RENAME COLUMN sha256 TO hash;
