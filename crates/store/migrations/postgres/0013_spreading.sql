-- Why: an engine that spreads tables by project copies the small tables of callers to every server, and a copied table may not
-- refer to a spread one. A key and a connection are only ever made from their project's own row.
ALTER TABLE api_key DROP CONSTRAINT api_key_project_id_fkey;
ALTER TABLE connection DROP CONSTRAINT connection_project_id_fkey;
