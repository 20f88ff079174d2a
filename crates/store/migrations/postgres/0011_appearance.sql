-- Why: nodes keep records as answers show them. A record's own changes are in the log; this counts what else changes them: the
-- names of members and departments, and the mark of the guard. It comes with every credential.
ALTER TABLE account ADD COLUMN appearance BIGINT NOT NULL DEFAULT 0;
