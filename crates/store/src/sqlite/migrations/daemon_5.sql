-- How far each chain is known to be on the disk. A tail beyond that may be lost with the power.
-- NULL in rows of older versions: all of it is.
ALTER TABLE anchor ADD COLUMN flushed_seq INTEGER;
ALTER TABLE anchor ADD COLUMN flushed_mac BLOB;
ALTER TABLE anchor ADD COLUMN flushed_seal BLOB;
