-- Why: a person enters the console with a key, and the browser then keeps a random value instead of the key. The row leads to
-- the key, which every request checks: what ends the key ends the session, without a write.
CREATE TABLE console_session (
    hash BYTEA NOT NULL PRIMARY KEY,
    key_hash BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

ALTER TABLE console_session ENABLE ROW LEVEL SECURITY;
ALTER TABLE console_session FORCE ROW LEVEL SECURITY;
CREATE POLICY presented ON console_session USING (
    hash = decode(NULLIF(current_setting('mnemon.credential', true), ''), 'hex'));
CREATE POLICY upkeep ON console_session USING (current_setting('mnemon.pass', true) = 'upkeep');
GRANT SELECT, INSERT, DELETE ON console_session TO mnemon_app;
