-- Why: a snapshot replaced the one before it in its row, under the project's lock, and saves into the project waited until
-- its megabytes had been sent and written. Now a snapshot is a row of its own: it is written first, and the lock is taken
-- only to see whether it may stay. Nodes of the version before read these rows, and write none until they are replaced:
-- they warn that the next start reads the log.
ALTER TABLE snapshot ADD id UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';
ALTER TABLE snapshot ALTER id SET DEFAULT gen_random_uuid();
ALTER TABLE snapshot DROP CONSTRAINT snapshot_pkey;
ALTER TABLE snapshot ADD PRIMARY KEY (project_id, workspace_no, id);
