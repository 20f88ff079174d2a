-- Why: a flight of saves names its projects, and each of the policies that it meets, ten of them, read that list anew, id by
-- id. Now the list is one string of bytes. Nodes of the version before name theirs in `mnemon.saves`, whose policies stay.
CREATE FUNCTION is_among(id UUID, ids BYTEA) RETURNS BOOLEAN
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (position(uuid_send(id) IN ids) + 15) % 16 < 1;

CREATE POLICY with_others ON account FOR SELECT USING (
    is_among(id, (SELECT decode(current_setting('mnemon.flight_accounts', true), 'hex'))));
CREATE POLICY with_others ON member FOR SELECT USING (
    is_among(account_id, (SELECT decode(current_setting('mnemon.flight_accounts', true), 'hex'))));
CREATE POLICY with_others ON project USING (is_among(id, (SELECT decode(current_setting('mnemon.flight', true), 'hex'))));
CREATE POLICY with_others ON workspace USING (is_among(project_id, (SELECT decode(current_setting('mnemon.flight', true), 'hex'))));
CREATE POLICY with_others ON workspace_audience USING (is_among(project_id, (SELECT decode(current_setting('mnemon.flight', true), 'hex'))));
CREATE POLICY with_others ON record USING (is_among(project_id, (SELECT decode(current_setting('mnemon.flight', true), 'hex'))));
CREATE POLICY with_others ON source USING (is_among(project_id, (SELECT decode(current_setting('mnemon.flight', true), 'hex'))));
CREATE POLICY with_others ON idempotency USING (is_among(project_id, (SELECT decode(current_setting('mnemon.flight', true), 'hex'))));

CREATE OR REPLACE FUNCTION look_over_saves(
    projects UUID[], of_projects UUID[], authors UUID[], workspaces TEXT[], hashes BYTEA[], key_members UUID[], keys TEXT[])
RETURNS TABLE (
    nth BIGINT, project_id UUID, seq BIGINT, live_records BIGINT, appearance BIGINT, workspace_no BIGINT, meets BOOLEAN,
    has_author BOOLEAN)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    locked UUID[];
    ends BIGINT[];
    counts BIGINT[];
    accounts UUID[];
    opened BYTEA;
    was_set TEXT;
BEGIN
    -- Also for the statement that comes after this one. An assignment costs a fraction of a query.
    was_set := set_config('plan_cache_mode', 'force_generic_plan', true);
    -- The lock comes first: what is read after it sees everything that was written under it.
    SELECT array_agg(p.id), array_agg(p.seq), array_agg(p.live_records), array_agg(p.account_id),
        string_agg(uuid_send(p.account_id), '')
    INTO locked, ends, counts, accounts, opened
    FROM (
        SELECT p.id, p.seq, p.live_records, p.account_id
        FROM project p
        WHERE p.id = ANY (projects) AND p.deleted_at IS NULL
        ORDER BY p.id
        FOR NO KEY UPDATE) AS p;
    was_set := set_config('mnemon.flight_accounts', COALESCE(encode(opened, 'hex'), ''), true);
    -- LATERAL with a limit looks up each value on its own; with any other join, the server may read all records per value.
    -- Columns are unnested side by side: as a source of rows, each would be stored first.
    RETURN QUERY
    SELECT NULL::bigint, g.id, g.seq, g.live_records, a.appearance, NULL::bigint, NULL::boolean, NULL::boolean
    FROM (
        SELECT unnest(locked) AS id, unnest(ends) AS seq, unnest(counts) AS live_records,
            unnest(accounts) AS account_id) AS g
    LEFT JOIN LATERAL (
        SELECT a.appearance
        FROM account a
        WHERE a.id = g.account_id
        LIMIT 1) AS a ON TRUE;
    IF cardinality(authors) = 0 AND cardinality(keys) = 0 THEN
        RETURN QUERY
        SELECT g.nth, g.project_id, NULL::bigint, NULL::bigint, NULL::bigint, w.no, r.one IS NOT NULL, NULL::boolean
        FROM (
            SELECT unnest(of_projects) AS project_id, unnest(workspaces) AS name, unnest(hashes) AS hash,
                generate_series(1::bigint, cardinality(of_projects)) AS nth) AS g
        LEFT JOIN LATERAL (
            SELECT w.no
            FROM workspace w
            WHERE w.project_id = g.project_id AND w.name = g.name AND w.deleted_at IS NULL
            LIMIT 1) AS w ON TRUE
        LEFT JOIN LATERAL (
            SELECT 1 AS one
            FROM record r
            WHERE r.project_id = g.project_id AND r.workspace_no = w.no AND r.content_hash = g.hash
                AND r.forgotten_at IS NULL
            LIMIT 1) AS r ON TRUE;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT g.nth, g.project_id, NULL::bigint, NULL::bigint, NULL::bigint, w.no, r.one IS NOT NULL OR i.one IS NOT NULL,
        m.one IS NOT NULL
    FROM unnest(of_projects, authors, workspaces, hashes, key_members, keys)
        WITH ORDINALITY AS g (project_id, author_id, name, hash, key_member_id, key, nth)
    LEFT JOIN LATERAL (
        SELECT w.no
        FROM workspace w
        WHERE w.project_id = g.project_id AND w.name = g.name AND w.deleted_at IS NULL
        LIMIT 1) AS w ON TRUE
    LEFT JOIN LATERAL (
        SELECT 1 AS one
        FROM record r
        WHERE r.project_id = g.project_id AND r.workspace_no = w.no AND r.content_hash = g.hash AND r.forgotten_at IS NULL
        LIMIT 1) AS r ON TRUE
    LEFT JOIN LATERAL (
        SELECT 1 AS one
        FROM idempotency i
        WHERE i.project_id = g.project_id AND i.member_id = g.key_member_id AND i.key = g.key
        LIMIT 1) AS i ON TRUE
    LEFT JOIN LATERAL (
        SELECT 1 AS one
        FROM project p
        JOIN member m ON m.account_id = p.account_id AND m.id = g.author_id
        WHERE p.id = g.project_id
        LIMIT 1) AS m ON TRUE;
END
$$;
