-- Why: a person enters the console with a key, and the browser then keeps a random value instead of the key. The row leads to
-- the key, which every request checks: what ends the key ends the session, without a write.
CREATE TABLE console_session (
    hash BLOB NOT NULL PRIMARY KEY,
    key_hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
