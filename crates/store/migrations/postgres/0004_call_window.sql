-- Why: calls are counted by each node, and a limit holds for all of them together.

-- What one node let through lately: of a key or connection, or, where `counter_id` is the project's own id, of the whole
-- project. `calls` is a second and a count, over and over. It is worth nothing after a minute, so it is not logged.
CREATE UNLOGGED TABLE call_window (
    project_id UUID NOT NULL,
    counter_id UUID NOT NULL,
    node_id UUID NOT NULL,
    updated_at BIGINT NOT NULL,
    calls BYTEA NOT NULL,
    PRIMARY KEY (project_id, counter_id, node_id)
);

CREATE INDEX call_window_node ON call_window (node_id, updated_at);

ALTER TABLE call_window ENABLE ROW LEVEL SECURITY;
ALTER TABLE call_window FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON call_window FOR SELECT USING (
    project_id = NULLIF(current_setting('mnemon.project', true), '')::uuid);
CREATE POLICY upkeep ON call_window USING (current_setting('mnemon.pass', true) = 'upkeep');
GRANT SELECT, INSERT, UPDATE, DELETE ON call_window TO mnemon_app;
