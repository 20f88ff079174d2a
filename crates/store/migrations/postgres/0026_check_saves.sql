-- Why: a flight of saves asked the server about its projects, waited for the answer, and then wrote. A node that was the last to
-- write into a project knows the answer before. Now it sends both statements at once: this function checks what the node
-- expects, with the projects locked, and the statement behind it writes only if it said yes. Nodes of the version before go
-- on asking first.
CREATE FUNCTION check_saves(
    projects UUID[], ends BIGINT[], counts BIGINT[], appearances BIGINT[],
    named_projects UUID[], named_numbers BIGINT[], names TEXT[], author_projects UUID[], authors UUID[],
    of_projects UUID[], of_workspaces BIGINT[], hashes BYTEA[])
RETURNS BOOLEAN
LANGUAGE plpgsql AS $$
DECLARE
    is_so BOOLEAN;
    accounts UUID[];
    opened BYTEA;
    was_set TEXT;
BEGIN
    was_set := set_config('plan_cache_mode', 'force_generic_plan', true);
    -- The lock comes first: what is read after it sees everything that was written under it.
    SELECT array_agg(p.id) = projects AND array_agg(p.seq) = ends AND array_agg(p.live_records) = counts,
        array_agg(p.account_id), string_agg(uuid_send(p.account_id), '')
    INTO is_so, accounts, opened
    FROM (
        SELECT p.id, p.seq, p.live_records, p.account_id
        FROM project p
        WHERE p.id = ANY (projects) AND p.deleted_at IS NULL
        ORDER BY p.id
        FOR NO KEY UPDATE) AS p;
    IF is_so IS NOT TRUE THEN
        RETURN FALSE;
    END IF;
    was_set := set_config('mnemon.flight_accounts', encode(opened, 'hex'), true);
    -- LATERAL with a limit looks up each value on its own; with any other join, the server may read all records per value.
    is_so := NOT EXISTS (
            SELECT 1
            FROM (SELECT unnest(accounts) AS id, unnest(appearances) AS appearance) AS g
            LEFT JOIN LATERAL (
                SELECT a.appearance
                FROM account a
                WHERE a.id = g.id
                LIMIT 1) AS a ON TRUE
            WHERE a.appearance IS DISTINCT FROM g.appearance)
        AND NOT EXISTS (
            SELECT 1
            FROM (
                SELECT unnest(named_projects) AS project_id, unnest(named_numbers) AS no, unnest(names) AS name) AS g
            LEFT JOIN LATERAL (
                SELECT w.no
                FROM workspace w
                WHERE w.project_id = g.project_id AND w.name = g.name AND w.deleted_at IS NULL
                LIMIT 1) AS w ON TRUE
            WHERE w.no IS DISTINCT FROM g.no)
        AND NOT EXISTS (
            SELECT 1
            FROM (
                SELECT unnest(of_projects) AS project_id, unnest(of_workspaces) AS no, unnest(hashes) AS hash) AS g
            CROSS JOIN LATERAL (
                SELECT 1
                FROM record r
                WHERE r.project_id = g.project_id AND r.workspace_no = g.no AND r.content_hash = g.hash
                    AND r.forgotten_at IS NULL
                LIMIT 1) AS r);
    IF is_so AND cardinality(authors) > 0 THEN
        is_so := NOT EXISTS (
            SELECT 1
            FROM (SELECT unnest(author_projects) AS project_id, unnest(authors) AS id) AS g
            LEFT JOIN LATERAL (
                SELECT m.id
                FROM member m
                WHERE m.account_id = accounts[array_position(projects, g.project_id)] AND m.id = g.id
                LIMIT 1) AS m ON TRUE
            WHERE m.id IS NULL);
    END IF;
    IF is_so THEN
        was_set := set_config('mnemon.is_checked', 'yes', true);
    END IF;
    RETURN is_so;
END
$$;
