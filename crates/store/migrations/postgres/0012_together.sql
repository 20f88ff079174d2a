-- Why: every call looks its credential up. Calls that arrive together ask together, by one statement: this function. It takes
-- on the service's role and opens what the presented hashes lead to, step by step as single look-ups do: hashes show keys
-- and connections, and those show their projects and accounts. The settings are gathered once per statement (a subquery),
-- not once per row. A column that is added later needs a function of another name: nodes of two versions run together.
CREATE POLICY looked_up ON api_key FOR SELECT USING (
    hash = ANY ((SELECT NULLIF(current_setting('mnemon.hashes', true), '')::bytea[])::bytea[])
    OR id = ANY ((SELECT NULLIF(current_setting('mnemon.keys', true), '')::uuid[])::uuid[]));
CREATE POLICY looked_up ON connection FOR SELECT USING (
    hash = ANY ((SELECT NULLIF(current_setting('mnemon.hashes', true), '')::bytea[])::bytea[]));
CREATE POLICY looked_up ON project FOR SELECT USING (
    id = ANY ((SELECT NULLIF(current_setting('mnemon.projects', true), '')::uuid[])::uuid[]));
CREATE POLICY looked_up ON account FOR SELECT USING (
    id = ANY ((SELECT NULLIF(current_setting('mnemon.accounts', true), '')::uuid[])::uuid[]));
CREATE POLICY looked_up ON member FOR SELECT USING (
    account_id = ANY ((SELECT NULLIF(current_setting('mnemon.accounts', true), '')::uuid[])::uuid[]));
CREATE POLICY looked_up ON department FOR SELECT USING (
    account_id = ANY ((SELECT NULLIF(current_setting('mnemon.accounts', true), '')::uuid[])::uuid[]));
CREATE POLICY looked_up ON call_window FOR SELECT USING (
    project_id = ANY ((SELECT NULLIF(current_setting('mnemon.projects', true), '')::uuid[])::uuid[]));
CREATE POLICY saves ON project USING (
    id = ANY ((SELECT NULLIF(current_setting('mnemon.saves', true), '')::uuid[])::uuid[]));
CREATE POLICY saves ON workspace USING (
    project_id = ANY ((SELECT NULLIF(current_setting('mnemon.saves', true), '')::uuid[])::uuid[]));
CREATE POLICY saves ON workspace_audience USING (
    project_id = ANY ((SELECT NULLIF(current_setting('mnemon.saves', true), '')::uuid[])::uuid[]));
CREATE POLICY saves ON record USING (
    project_id = ANY ((SELECT NULLIF(current_setting('mnemon.saves', true), '')::uuid[])::uuid[]));
CREATE POLICY saves ON source USING (
    project_id = ANY ((SELECT NULLIF(current_setting('mnemon.saves', true), '')::uuid[])::uuid[]));
CREATE POLICY saves ON idempotency USING (
    project_id = ANY ((SELECT NULLIF(current_setting('mnemon.saves', true), '')::uuid[])::uuid[]));

CREATE FUNCTION look_up(app_role TEXT, lock_timeout_ms TEXT, keys BYTEA[], tokens BYTEA[], node UUID)
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
        set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
        set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true);
    IF cardinality(tokens) > 0 THEN
        PERFORM set_config('mnemon.keys', COALESCE(array_agg(c.key_id), '{}')::text, true)
        FROM connection c
        WHERE c.hash = ANY (tokens);
    END IF;
    PERFORM set_config('mnemon.projects', COALESCE(array_agg(k.project_id), '{}')::text, true),
        set_config('mnemon.accounts', COALESCE(array_agg(k.account_id), '{}')::text, true)
    FROM api_key k
    WHERE k.hash = ANY (keys) OR k.id = ANY (NULLIF(current_setting('mnemon.keys', true), '')::uuid[]);
    RETURN QUERY
    SELECT k.id, k.access, k.expires_at, k.revoked_at IS NOT NULL, k.project_id, k.account_id, k.member_id,
        p.seq, p.deleted_at IS NOT NULL, a.plan, a.paid_until, a.is_suspended,
        m.name, m.role, m.access_until, m.department_id, d.name, a.appearance, k.workspace,
        CASE WHEN m.department_id IS NULL THEN '{}' ELSE ARRAY(
            SELECT t.id FROM department t WHERE t.account_id = k.account_id ORDER BY t.id) END,
        CASE WHEN m.department_id IS NULL THEN '{}' ELSE ARRAY(
            SELECT t.parent_id FROM department t WHERE t.account_id = k.account_id ORDER BY t.id) END,
        q.connection_id, k.hash, q.client_id, q.resource, q.expires_at, q.is_revoked,
        q.asked,
        ARRAY(
            SELECT w.counter_id
            FROM call_window w
            WHERE w.project_id = k.project_id AND w.counter_id IN (COALESCE(q.connection_id, k.id), k.project_id)
                AND w.node_id <> node
            ORDER BY w.counter_id, w.node_id),
        ARRAY(
            SELECT w.calls
            FROM call_window w
            WHERE w.project_id = k.project_id AND w.counter_id IN (COALESCE(q.connection_id, k.id), k.project_id)
                AND w.node_id <> node
            ORDER BY w.counter_id, w.node_id)
    FROM (
        SELECT i.hash AS asked, i.id AS key_id, NULL::uuid AS connection_id, NULL::text AS client_id,
            NULL::text AS resource, NULL::bigint AS expires_at, NULL::boolean AS is_revoked
        FROM api_key i
        WHERE i.hash = ANY (keys)
        UNION ALL
        SELECT c.hash, c.key_id, c.id, c.client_id, c.resource, c.expires_at, c.revoked_at IS NOT NULL
        FROM connection c
        WHERE c.hash = ANY (tokens)) AS q
    JOIN api_key k ON k.id = q.key_id
    JOIN project p ON p.id = k.project_id
    JOIN account a ON a.id = k.account_id
    JOIN member m ON m.account_id = k.account_id AND m.id = k.member_id
    LEFT JOIN department d ON d.account_id = m.account_id AND d.id = m.department_id;
END
$$;

-- Saves of many projects are stored together. This locks the projects and tells what decides about each save.
CREATE FUNCTION look_at_saves(
    projects UUID[], of_projects UUID[], authors UUID[], workspaces TEXT[], hashes BYTEA[], key_members UUID[], keys TEXT[])
RETURNS TABLE (
    nth BIGINT, project_id UUID, seq BIGINT, live_records BIGINT, workspace_no BIGINT, meets BOOLEAN, has_author BOOLEAN)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    -- The lock comes first: what is read after it sees everything that was written under it.
    RETURN QUERY
    SELECT NULL::bigint, p.id, p.seq, p.live_records, NULL::bigint, NULL::boolean, NULL::boolean
    FROM project p
    WHERE p.id = ANY (projects) AND p.deleted_at IS NULL
    ORDER BY p.id
    FOR NO KEY UPDATE;
    PERFORM set_config('mnemon.accounts', COALESCE(array_agg(p.account_id), '{}')::text, true)
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
