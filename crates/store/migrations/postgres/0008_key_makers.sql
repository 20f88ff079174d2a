-- Why: members see every key in their name and who made it. Keys of before, and those of the operator and of the first
-- start, have no maker. The index serves a member's list.

ALTER TABLE api_key ADD COLUMN created_by UUID;

CREATE INDEX api_key_member ON api_key (account_id, member_id, created_at);
