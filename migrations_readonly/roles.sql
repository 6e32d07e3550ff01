-- Roles and their memberships. They belong to the cluster, so this file stands apart from the steps.
-- A role that exists already is left as it is; no role gets a password here.

do $$
declare
  wanted record;
begin
  for wanted in
    select * from (values
      ('schema_owner', 'nologin'),
      ('service_role', 'nologin bypassrls'),
      ('authenticated', 'nologin'),
      -- NOINHERIT: a login has the rights of its group only after SET ROLE.
      ('admin_runtime', 'login noinherit'),
      ('app_runtime', 'login noinherit')
    ) as roles (name, attributes)
  loop
    if not exists (select from pg_catalog.pg_roles where rolname = wanted.name) then
      execute format('create role %I %s', wanted.name, wanted.attributes);
    end if;
  end loop;

  for wanted in
    select * from (values
      ('service_role', 'admin_runtime'),
      ('authenticated', 'app_runtime')
    ) as memberships (granted, member)
  loop
    if not exists (
      select from pg_catalog.pg_auth_members m
      where m.roleid = wanted.granted::regrole and m.member = wanted.member::regrole
    ) then
      -- Without options: from PostgreSQL 16 on, INHERIT then follows the member's NOINHERIT and SET is allowed.
      execute format('grant %I to %I', wanted.granted, wanted.member);
    end if;
  end loop;
end
$$;
