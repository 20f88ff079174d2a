-- Why: people judge a change by what was there before. An accepted tool keeps the description that was accepted, and a source the
-- moments at which its newest hash was seen and last confirmed.
ALTER TABLE integration_tool ADD COLUMN accepted_at INTEGER;
ALTER TABLE integration_tool ADD COLUMN accepted_definition TEXT;
UPDATE integration_tool SET accepted_definition = definition WHERE accepted_hash = hash;
ALTER TABLE source ADD COLUMN known_at INTEGER;
ALTER TABLE source ADD COLUMN confirmed_at INTEGER;
