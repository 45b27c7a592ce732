"""The queries that list what is in a database, from its catalogs alone. Runs inside the sandbox.

A superuser runs them, so they read nothing that a model's function, view or rule could answer.
"""

OURS = (
    "n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'observer') AND n.nspname !~ '^pg_(toast_)?temp'"
)
MADE = "oid >= 16384"

INVENTORY = (
    # Tables, views and sequences.
    f"""SELECT format('%s %s.%s', CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'partitioned table'
        WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' ELSE 'relation' END,
        n.nspname, c.relname)
      || CASE WHEN c.relpersistence <> 'p' THEN ' (not logged)' ELSE '' END
      || CASE WHEN c.relrowsecurity OR c.relforcerowsecurity THEN ' (row security)' ELSE '' END
      || CASE WHEN c.relowner <> 'app'::regrole THEN ' (not of app)' ELSE '' END
      || CASE WHEN c.relispartition THEN ' (a partition)' ELSE '' END
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind NOT IN ('i', 'I', 't', 'c') AND {OURS}""",
    # Privileges of others than the owner.
    f"""SELECT format('grant %s on %s.%s to %s', a.privilege_type, n.nspname, c.relname, a.grantee::regrole)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) a
    WHERE {OURS} AND a.grantee <> c.relowner""",
    # Columns of tables and views.
    f"""SELECT format('column %s.%s.%s: %s', n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod))
      || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
      || CASE a.attidentity WHEN '' THEN '' WHEN 'a' THEN ' identity always' ELSE ' identity by default' END
      || CASE WHEN a.attgenerated <> '' THEN ' generated' WHEN d.oid IS NOT NULL THEN ' default' ELSE '' END
      || COALESCE(' ' || pg_get_expr(d.adbin, d.adrelid), '')
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relkind NOT IN ('i', 'I', 't', 'c', 'S') AND a.attnum > 0 AND NOT a.attisdropped AND {OURS}""",
    # Constraints; the definition says NOT VALID itself.
    f"""SELECT format('constraint %s.%s.%s: %s', n.nspname, c.relname, o.conname, pg_get_constraintdef(o.oid))
      || CASE WHEN o.connoinherit AND o.contype = 'c' THEN ' (no inherit)' ELSE '' END
    FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE o.contype <> 't' AND {OURS}""",
    # Indexes.
    f"""SELECT format('index %s: %s', c.relname, pg_get_indexdef(c.oid))
      || CASE WHEN i.indisvalid AND i.indisready THEN '' ELSE ' (invalid)' END
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE {OURS}""",
    # Triggers, and those of constraints that are off.
    f"""SELECT format('trigger %s: %s', t.tgname, pg_get_triggerdef(t.oid))
      || CASE WHEN t.tgenabled = 'O' THEN '' ELSE ' (disabled)' END
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE (NOT t.tgisinternal OR t.tgenabled <> 'O') AND {OURS}""",
    f"""SELECT format('routine %s.%s', n.nspname, p.proname)
      || CASE WHEN p.prosecdef THEN ' (security definer)' ELSE '' END
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE {OURS}""",
    f"""SELECT format('type %s.%s', n.nspname, t.typname)
      || COALESCE(': ' || (SELECT string_agg(e.enumlabel, ', ' ORDER BY e.enumsortorder) FROM pg_enum e
                           WHERE e.enumtypid = t.oid), '')
    FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
    WHERE t.typtype IN ('e', 'd', 'r') AND {OURS}""",
    f"""SELECT format('rule %s on %s.%s', r.rulename, n.nspname, c.relname)
    FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE r.rulename <> '_RETURN' AND {OURS}""",
    "SELECT format('policy %s on %s', polname, polrelid::regclass) FROM pg_policy",
    "SELECT 'event trigger ' || evtname FROM pg_event_trigger WHERE evtname NOT IN ('observer_start', 'observer_end')",
    f"SELECT 'operator ' || oprname FROM pg_operator WHERE {MADE}",
    f"SELECT format('cast from %s to %s', castsource::regtype, casttarget::regtype) FROM pg_cast WHERE {MADE}",
    f"SELECT 'schema ' || nspname FROM pg_namespace n WHERE {MADE} AND {OURS}",
    "SELECT format('setting of %s: %s', setrole::regrole, s) FROM pg_db_role_setting, unnest(setconfig) s",
    "SELECT 'extension ' || extname FROM pg_extension"
    " WHERE extname NOT IN ('plpgsql', 'pg_walinspect', 'pg_stat_statements')",
    "SELECT 'large object ' || oid FROM pg_largeobject_metadata",
    "SELECT 'prepared transaction ' || gid FROM pg_prepared_xacts",
    "SELECT format('statistics %s', stxname) FROM pg_statistic_ext",
)
