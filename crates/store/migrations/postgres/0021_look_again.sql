-- Why: every call asks who its key belongs to, and the answer is almost always the one of the call before. So a node keeps
-- it, and asks only whether it still holds: `account.appearance` now also changes with everything that a key stands for. The
-- database sees to that, not the nodes: changes by nodes of the version before, or by hand, count too.
CREATE FUNCTION note_change_of_account() RETURNS TRIGGER
LANGUAGE plpgsql AS $$
BEGIN
    -- A time, not a count: after a failover that lost changes, a count would reach the same number again, for others.
    NEW.appearance := GREATEST(OLD.appearance + 1, (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint);
    RETURN NEW;
END
$$;

CREATE TRIGGER appearance BEFORE UPDATE ON account FOR EACH ROW EXECUTE FUNCTION note_change_of_account();

-- Whoever changes these rows may have opened a project or a single key, so the account is opened here, for this one change.
CREATE FUNCTION note_change_in_account() RETURNS TRIGGER
LANGUAGE plpgsql AS $$
DECLARE
    opened TEXT := COALESCE(current_setting('mnemon.account', true), '');
    changed UUID;
BEGIN
    -- A transfer copies what is, with no node running.
    IF current_setting('mnemon.pass', true) = 'copy' THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'INSERT' THEN
        changed := NEW.account_id;
    ELSE
        changed := OLD.account_id;
    END IF;
    PERFORM set_config('mnemon.account', changed::text, true);
    UPDATE account SET appearance = appearance + 1 WHERE id = changed;
    PERFORM set_config('mnemon.account', opened, true);
    RETURN NULL;
END
$$;

CREATE TRIGGER appearance AFTER INSERT OR UPDATE OR DELETE ON department
    FOR EACH ROW EXECUTE FUNCTION note_change_in_account();
CREATE TRIGGER appearance AFTER UPDATE OR DELETE ON member
    FOR EACH ROW EXECUTE FUNCTION note_change_in_account();
-- Not when a key was used: that changes nothing about it, and happens all the time.
CREATE TRIGGER appearance
    AFTER UPDATE OF id, hash, project_id, account_id, member_id, access, expires_at, revoked_at, workspace OR DELETE ON api_key
    FOR EACH ROW EXECUTE FUNCTION note_change_in_account();

CREATE FUNCTION look_again(
    app_role TEXT, lock_timeout_ms TEXT, keys UUID[], projects UUID[], accounts UUID[], node UUID)
RETURNS TABLE (nth BIGINT, seq BIGINT, appearance BIGINT, counters UUID[], calls BYTEA[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('role', app_role, true), set_config('lock_timeout', lock_timeout_ms, true),
        set_config('mnemon.projects', projects::text, true), set_config('mnemon.accounts', accounts::text, true),
        set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
        set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
        set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
    RETURN QUERY
    SELECT g.nth, p.seq, a.appearance, COALESCE(w.counters, '{}'), COALESCE(w.calls, '{}')
    FROM unnest(keys, projects) WITH ORDINALITY AS g (key_id, project_id, nth)
    JOIN project p ON p.id = g.project_id
    JOIN account a ON a.id = p.account_id
    CROSS JOIN LATERAL (
        SELECT array_agg(w.counter_id) AS counters, array_agg(w.calls) AS calls
        FROM call_window w
        WHERE w.project_id = g.project_id AND w.counter_id IN (g.key_id, g.project_id) AND w.node_id <> node) AS w
    WHERE p.deleted_at IS NULL;
END
$$;
