-- Why: an index of a million records is half a gigabyte. Inside the database it held up everybody who saved, and it could only
-- be copied out. It is a file of its own now. What was stored before is made anew from the log.
DROP TABLE snapshot;

CREATE TABLE snapshot (
    project_id BLOB NOT NULL,
    workspace_no INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    -- Its name in the directory of snapshots. A restored backup names files that are not there.
    file TEXT NOT NULL,
    PRIMARY KEY (project_id, workspace_no)
) STRICT, WITHOUT ROWID;
