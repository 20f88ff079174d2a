-- Why: people judge a change by what was there before. An accepted tool keeps the description that was accepted, and a source the
-- moments at which its newest hash was seen and last confirmed.
ALTER TABLE integration_tool ADD COLUMN accepted_at BIGINT;
ALTER TABLE integration_tool ADD COLUMN accepted_definition TEXT COLLATE "C";
UPDATE integration_tool SET accepted_definition = definition WHERE accepted_hash = hash;
ALTER TABLE source ADD COLUMN known_at BIGINT;
ALTER TABLE source ADD COLUMN confirmed_at BIGINT;
