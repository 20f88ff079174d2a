-- Why: a node looked a key up before every save, although it knew the key and was about to ask about its project anyway. Now
-- the statement that looks at saves also tells `account.appearance`, and a save by a key that the node knows needs no look-up
-- of its own. What few saves have, an idempotency key or an author to be looked for, is asked for only where a batch has it.
-- Nodes of the version before call `look_at_saves`.
CREATE FUNCTION look_over_saves(
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
    was_set TEXT;
BEGIN
    -- Also for the statement that comes after this one. An assignment costs a fraction of a query.
    was_set := set_config('plan_cache_mode', 'force_generic_plan', true);
    -- The lock comes first: what is read after it sees everything that was written under it.
    SELECT array_agg(p.id), array_agg(p.seq), array_agg(p.live_records), array_agg(p.account_id)
    INTO locked, ends, counts, accounts
    FROM (
        SELECT p.id, p.seq, p.live_records, p.account_id
        FROM project p
        WHERE p.id = ANY (projects) AND p.deleted_at IS NULL
        ORDER BY p.id
        FOR NO KEY UPDATE) AS p;
    was_set := set_config('mnemon.accounts', COALESCE(accounts, '{}')::text, true);
    -- LATERAL with a limit looks up each value on its own; with any other join, the server may read all records per value.
    RETURN QUERY
    SELECT NULL::bigint, g.id, g.seq, g.live_records, a.appearance, NULL::bigint, NULL::boolean, NULL::boolean
    FROM unnest(locked, ends, counts, accounts) AS g (id, seq, live_records, account_id)
    LEFT JOIN LATERAL (
        SELECT a.appearance
        FROM account a
        WHERE a.id = g.account_id
        LIMIT 1) AS a ON TRUE;
    IF cardinality(authors) = 0 AND cardinality(keys) = 0 THEN
        RETURN QUERY
        SELECT g.nth, g.project_id, NULL::bigint, NULL::bigint, NULL::bigint, w.no, r.one IS NOT NULL, NULL::boolean
        FROM unnest(of_projects, workspaces, hashes) WITH ORDINALITY AS g (project_id, name, hash, nth)
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
