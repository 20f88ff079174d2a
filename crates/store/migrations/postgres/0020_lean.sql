-- Why: what a joint look-up costs the server grows with its keys, and every call waits for one. The plans are kept, because the
-- server would plan anew for few keys. Each key is read by its hash alone, and what belongs to it (departments, calls on other
-- nodes) by one visit each. Names, arguments and columns stay: nodes of the version before call the same functions.
CREATE OR REPLACE FUNCTION look_up(app_role TEXT, lock_timeout_ms TEXT, keys BYTEA[], tokens BYTEA[], node UUID)
RETURNS TABLE (
    key_id UUID, access TEXT, expires_at BIGINT, is_revoked BOOLEAN, project_id UUID, account_id UUID, member_id UUID,
    seq BIGINT, is_deleted BOOLEAN, plan TEXT, paid_until BIGINT, is_suspended BOOLEAN,
    member_name TEXT, role TEXT, access_until BIGINT, department_id UUID, department_name TEXT, appearance BIGINT,
    workspace TEXT,
    departments UUID[], parents UUID[],
    connection_id UUID, key_hash BYTEA, client_id TEXT, resource TEXT, token_expires_at BIGINT, is_token_revoked BOOLEAN,
    asked BYTEA, counters UUID[], calls BYTEA[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('role', app_role, true), set_config('lock_timeout', lock_timeout_ms, true),
        set_config('mnemon.hashes', (keys || tokens)::text, true),
        set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
        set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
        set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
    IF cardinality(tokens) = 0 THEN
        PERFORM set_config('mnemon.projects', COALESCE(array_agg(k.project_id), '{}')::text, true),
            set_config('mnemon.accounts', COALESCE(array_agg(DISTINCT k.account_id), '{}')::text, true)
        FROM api_key k
        WHERE k.hash = ANY (keys);
    ELSE
        PERFORM set_config('mnemon.keys', COALESCE(array_agg(c.key_id), '{}')::text, true)
        FROM connection c
        WHERE c.hash = ANY (tokens);
        PERFORM set_config('mnemon.projects', COALESCE(array_agg(q.project_id), '{}')::text, true),
            set_config('mnemon.accounts', COALESCE(array_agg(DISTINCT q.account_id), '{}')::text, true)
        FROM (
            SELECT k.project_id, k.account_id
            FROM api_key k
            WHERE k.hash = ANY (keys)
            UNION ALL
            SELECT k.project_id, k.account_id
            FROM api_key k
            WHERE k.id = ANY (NULLIF(current_setting('mnemon.keys', true), '')::uuid[])) AS q;
    END IF;
    RETURN QUERY
    SELECT k.id, k.access, k.expires_at, k.revoked_at IS NOT NULL, k.project_id, k.account_id, k.member_id,
        p.seq, p.deleted_at IS NOT NULL, a.plan, a.paid_until, a.is_suspended,
        m.name, m.role, m.access_until, m.department_id, t.name, a.appearance, k.workspace,
        COALESCE(t.ids, '{}'), COALESCE(t.parents, '{}'),
        NULL::uuid, k.hash, NULL::text, NULL::text, NULL::bigint, NULL::boolean,
        k.hash, COALESCE(w.counters, '{}'), COALESCE(w.calls, '{}')
    FROM api_key k
    JOIN project p ON p.id = k.project_id
    JOIN account a ON a.id = k.account_id
    JOIN member m ON m.account_id = k.account_id AND m.id = k.member_id
    CROSS JOIN LATERAL (
        SELECT array_agg(t.id) AS ids, array_agg(t.parent_id) AS parents,
            MAX(t.name) FILTER (WHERE t.id = m.department_id) AS name
        FROM department t
        WHERE m.department_id IS NOT NULL AND t.account_id = k.account_id) AS t
    CROSS JOIN LATERAL (
        SELECT array_agg(w.counter_id) AS counters, array_agg(w.calls) AS calls
        FROM call_window w
        WHERE w.project_id = k.project_id AND w.counter_id IN (k.id, k.project_id) AND w.node_id <> node) AS w
    WHERE k.hash = ANY (keys);
    IF cardinality(tokens) = 0 THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT k.id, k.access, k.expires_at, k.revoked_at IS NOT NULL, k.project_id, k.account_id, k.member_id,
        p.seq, p.deleted_at IS NOT NULL, a.plan, a.paid_until, a.is_suspended,
        m.name, m.role, m.access_until, m.department_id, t.name, a.appearance, k.workspace,
        COALESCE(t.ids, '{}'), COALESCE(t.parents, '{}'),
        c.id, k.hash, c.client_id, c.resource, c.expires_at, c.revoked_at IS NOT NULL,
        c.hash, COALESCE(w.counters, '{}'), COALESCE(w.calls, '{}')
    FROM connection c
    JOIN api_key k ON k.id = c.key_id
    JOIN project p ON p.id = k.project_id
    JOIN account a ON a.id = k.account_id
    JOIN member m ON m.account_id = k.account_id AND m.id = k.member_id
    CROSS JOIN LATERAL (
        SELECT array_agg(t.id) AS ids, array_agg(t.parent_id) AS parents,
            MAX(t.name) FILTER (WHERE t.id = m.department_id) AS name
        FROM department t
        WHERE m.department_id IS NOT NULL AND t.account_id = k.account_id) AS t
    CROSS JOIN LATERAL (
        SELECT array_agg(w.counter_id) AS counters, array_agg(w.calls) AS calls
        FROM call_window w
        WHERE w.project_id = k.project_id AND w.counter_id IN (c.id, k.project_id) AND w.node_id <> node) AS w
    WHERE c.hash = ANY (tokens);
END
$$;

CREATE OR REPLACE FUNCTION look_at_saves(
    projects UUID[], of_projects UUID[], authors UUID[], workspaces TEXT[], hashes BYTEA[], key_members UUID[], keys TEXT[])
RETURNS TABLE (
    nth BIGINT, project_id UUID, seq BIGINT, live_records BIGINT, workspace_no BIGINT, meets BOOLEAN, has_author BOOLEAN)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('plan_cache_mode', 'force_generic_plan', true);
    -- The lock comes first: what is read after it sees everything that was written under it.
    RETURN QUERY
    SELECT NULL::bigint, p.id, p.seq, p.live_records, NULL::bigint, NULL::boolean, NULL::boolean
    FROM project p
    WHERE p.id = ANY (projects) AND p.deleted_at IS NULL
    ORDER BY p.id
    FOR NO KEY UPDATE;
    PERFORM set_config('mnemon.accounts', COALESCE(array_agg(DISTINCT p.account_id), '{}')::text, true)
    FROM project p
    WHERE p.id = ANY (projects);
    -- LATERAL with a limit looks up each value on its own; with any other join, the server may read all records per value.
    RETURN QUERY
    SELECT g.nth, g.project_id, NULL::bigint, NULL::bigint, w.no, r.one IS NOT NULL OR i.one IS NOT NULL, m.one IS NOT NULL
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
