"""Asks the catalogue once what there is and who may use it; facts only, nothing concluded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from invite_admin.facts import Facts, Function, Sight

if TYPE_CHECKING:
    from invite_admin.session import Session
    from invite_admin.settings import Settings

CODES, AUDIT, IDENTITY, AUTH = "codes", "audit", "identity", "auth"
TABLES = ("r", "p")  # relkind of a table, plain or partitioned
TARGET = "target"  # what the admin functions write, which is CODES unless another table is set

# Argument types as pg_proc has them; the contract of the application's admin functions.
_ACTOR = "uuid, text, text, text"
CREATE, UPDATE, REVOKE = (
    "admin_create_redemption_codes",
    "admin_update_redemption_code",
    "admin_revoke_redemption_code",
)
WRITTEN = "public.redemption_codes"  # the one table that these functions change
FUNCTIONS = {
    CREATE: f"{_ACTOR}, jsonb",
    UPDATE: f"{_ACTOR}, uuid, boolean, text, boolean, timestamp with time zone",
    REVOKE: f"{_ACTOR}, uuid",
}

# A viewer is a role whose eyes are asked for: the one that the session began as, the one that
# logged in where ALTER ROLE … SET role made that another, the write role, and where none is set
# every role the login could take: SET ROLE asks about session_user, whoever the role is now.
# Eyes are asked for of the owners of the admin functions, too, with whose rights these run.
# A deed is closed where row security is active for the viewer, so that rows may be hidden, left out
# or refused, unless a permissive policy for that deed applies to it whose conditions are plainly
# `true`, and no restrictive one applies too.
# A column is demanded where an INSERT must name it: where a trigger runs before each inserted row
# (the three bits of tgtype) that may fill it, so then none is.
_QUERY = r"""
with routine as (
    select f.*
    from pg_catalog.pg_proc f join pg_catalog.pg_namespace n on n.oid = f.pronamespace
    where n.nspname = 'public' and f.proname = any(:functions)
), viewer as (
    select r.oid, r.rolname::text as name, r.rolname = current_user as login,
           r.rolsuper as super, r.rolsuper or r.rolbypassrls as bypasses,
           r.rolname = session_user and session_user <> current_user as outside,
           pg_has_role(session_user, r.oid, :membership) as reachable, asked.acts
    from pg_catalog.pg_roles r cross join lateral (select
       r.rolname in (current_user, session_user)
       or r.rolname is not distinct from cast(:write_role as text)
       or (cast(:write_role as text) is null and r.rolname !~ '^pg_'
           and not (select rolsuper from pg_catalog.pg_roles where rolname = session_user)
           and pg_has_role(session_user, r.oid, :membership)) as acts
    ) asked
    where asked.acts or r.oid in (select proowner from routine)
), relation as (
    select k.kind, c.oid, c.relkind, c.relowner, c.relrowsecurity, c.relforcerowsecurity,
           n.oid as schema
    from (values ('codes', cast(:schema as text), cast(:table as text)),
                 ('target', 'public', 'redemption_codes'),
                 ('audit', 'audit', 'admin_audit_logs'),
                 ('identity', 'identity', 'users'), ('auth', 'auth', 'users'))
         k (kind, schema_name, table_name)
    join pg_catalog.pg_namespace n on n.nspname = k.schema_name
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = k.table_name
), policy as (
    select p.polrelid, v.oid as viewer, deed.letter
    from pg_catalog.pg_policy p cross join viewer v
    cross join lateral (select pg_get_expr(p.polqual, p.polrelid) as found,
                               pg_get_expr(coalesce(p.polwithcheck, p.polqual), p.polrelid) as made
    ) rows
    join (values ('s', 'r'), ('i', 'a'), ('u', 'w')) deed (letter, command)
      on p.polcmd in (deed.command::"char", '*')
    where exists (select from unnest(p.polroles) as granted (role)
                  where case when granted.role = 0 then true
                             else pg_has_role(v.oid, granted.role, 'usage') end)
    group by p.polrelid, v.oid, deed.letter
    having bool_and(p.polpermissive)
       and bool_or((deed.letter = 'i' or rows.found = 'true')
                   and (deed.letter = 's' or rows.made = 'true'))
), sight as (
    select r.kind, v.name,
           (select coalesce(string_agg(letter, ''), '') from unnest(array['s', 'i', 'u']) letter
            where rls.active
              and not exists (select from policy p where p.polrelid = r.oid and p.viewer = v.oid
                              and p.letter = letter.letter)) as closed,
           has_schema_privilege(v.oid, r.schema, 'usage') as usage,
           (select jsonb_object_agg(attname, concat(
                       case when has_column_privilege(v.oid, r.oid, attnum, 'select')
                            then 's' end,
                       case when has_column_privilege(v.oid, r.oid, attnum, 'insert')
                            then 'i' end,
                       case when has_column_privilege(v.oid, r.oid, attnum, 'update')
                            then 'u' end))
            from pg_catalog.pg_attribute
            where attrelid = r.oid and attnum > 0 and not attisdropped) as columns
    from relation r cross join viewer v
    cross join lateral (
        select r.relrowsecurity and not v.bypasses
               and (r.relforcerowsecurity or not pg_has_role(v.oid, r.relowner, 'usage')) as active
    ) rls
), demanded as (
    select a.attname::text as name
    from relation r join pg_catalog.pg_attribute a on a.attrelid = r.oid
    join pg_catalog.pg_type t on t.oid = a.atttypid
    where r.kind = 'codes' and a.attnum > 0 and not a.attisdropped
      and (a.attnotnull or t.typnotnull) and not a.atthasdef and a.attidentity = ''
      and t.typdefault is null
      and not exists (select from pg_catalog.pg_trigger g
                      where g.tgrelid = r.oid and not g.tgisinternal and g.tgenabled <> 'D'
                        and g.tgtype & 7 = 7)
), admin as (
    select f.proname::text as name, oidvectortypes(f.proargtypes) as arguments,
           (select coalesce(jsonb_agg(v.name), '[]') from viewer v
            where has_function_privilege(v.oid, f.oid, 'execute')
              and has_schema_privilege(v.oid, f.pronamespace, 'usage')) as callers,
           f.prosecdef as definer, v.name as owner
    from routine f join viewer v on v.oid = f.proowner
)
select (select jsonb_agg(to_jsonb(v) - 'oid' order by v.login desc, v.name)
        from viewer v) as viewers,
       (select coalesce(jsonb_object_agg(r.kind, r.relkind), '{}') from relation r) as relations,
       (select coalesce(jsonb_agg(to_jsonb(s)), '[]') from sight s) as sights,
       (select coalesce(jsonb_agg(to_jsonb(a)), '[]') from admin a) as functions,
       (select coalesce(jsonb_agg(d.name order by d.name), '[]') from demanded d) as demanded
"""


def ask(session: Session, settings: Settings) -> Facts:
    """Ask the catalogue, as the login, in one statement."""
    import sqlalchemy as sa  # noqa: PLC0415 - heavy; only a command that runs needs it

    row = session.execute(
        sa.text(_QUERY),
        {
            "membership": "SET" if session.server.number >= 160000 else "MEMBER",  # noqa: PLR2004
            "write_role": settings.write_role,
            "schema": settings.schema,
            "table": settings.table,
            "functions": list(FUNCTIONS),
        },
    ).one()
    return replace(_facts(row), barred=session.server.barred)


def _facts(row: Any) -> Facts:  # noqa: ANN401 - a row of SQLAlchemy's
    acting = [v for v in row.viewers if v["acts"]]
    sights = {(s["kind"], s["name"]): _sight(s) for s in row.sights}
    fitting = {
        f["name"]: Function(
            callers=frozenset(f["callers"]),
            definer=f["definer"],
            owner={kind: sight for (kind, who), sight in sights.items() if who == f["owner"]},
        )
        for f in row.functions
        if f["arguments"] == FUNCTIONS[f["name"]]
    }
    roles = tuple(v["name"] for v in acting)
    return Facts(
        login=next(v["name"] for v in acting if v["login"]),
        reachable=frozenset(v["name"] for v in acting if v["reachable"]),
        roles=roles,
        relations=row.relations,
        sights={(kind, who): sight for (kind, who), sight in sights.items() if who in roles},
        functions=fitting,
        misfits=frozenset(f["name"] for f in row.functions) - frozenset(fitting),
        outer=next((v["name"] for v in acting if v["outside"]), None),
        demanded=tuple(row.demanded),
        superusers=frozenset(v["name"] for v in acting if v["super"]),
    )


def _sight(found: dict[str, Any]) -> Sight:
    return Sight(
        closed=found["closed"],
        usage=found["usage"],
        columns=found["columns"] or {},
    )
