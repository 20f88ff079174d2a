-- Why: a key may have a workspace of its own, which is meant by calls that name none.
ALTER TABLE api_key ADD COLUMN workspace TEXT;
