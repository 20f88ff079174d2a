-- Why: snapshots have another format. Here they stay in their table, where every node finds them; what was stored before is made
-- anew from the log.
TRUNCATE snapshot;
