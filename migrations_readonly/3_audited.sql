-- Step 3: administrators are known, writes go through functions, and each leaves an audit row.
-- Run as a superuser, in one transaction, after step 2.

create schema identity authorization schema_owner;
create schema audit authorization schema_owner;

set role schema_owner;

create table identity.users (
  id uuid not null default gen_random_uuid(),
  email text not null,
  role text not null default 'user',
  banned boolean not null default false,
  ban_expires timestamptz,
  constraint users_pkey primary key (id)
);

create unique index users_email_key on identity.users (lower(btrim(email)));

create function identity.copy_to_auth() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'DELETE' then
    delete from auth.users u where u.id = old.id;
  else
    insert into auth.users as u (id, email)
    values (new.id, new.email)
    on conflict (id) do update set email = excluded.email;
  end if;
  return null;
end
$$;

create trigger users_copy_to_auth
after insert or delete or update of email on identity.users
for each row execute function identity.copy_to_auth();

create table audit.admin_audit_logs (
  id uuid not null default gen_random_uuid(),
  actor_user_id uuid not null,
  actor_email text not null,
  actor_role text not null,
  action text not null,
  target_type text not null,
  target_id text not null,
  before_value jsonb,
  after_value jsonb,
  request_id text not null,
  created_at timestamptz not null default now(),
  constraint admin_audit_logs_pkey primary key (id),
  constraint admin_audit_logs_actor_email_check check (actor_email = lower(actor_email)),
  constraint admin_audit_logs_action_check check (
    action in ('redemption_code.create', 'redemption_code.update', 'redemption_code.revoke')
  ),
  constraint admin_audit_logs_request_id_check check (char_length(request_id) between 1 and 200),
  constraint admin_audit_logs_before_value_check
    check (not before_value ?| array['code', 'code_hash', 'token', 'secret', 'key']),
  constraint admin_audit_logs_after_value_check
    check (not after_value ?| array['code', 'code_hash', 'token', 'secret', 'key']),
  constraint admin_audit_logs_request_key unique (actor_user_id, request_id, action, target_id)
);

create function audit.refuse_change() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'the audit log is append-only' using errcode = '55000';
end
$$;

create trigger admin_audit_logs_append_only
before update or delete on audit.admin_audit_logs
for each row execute function audit.refuse_change();

create trigger admin_audit_logs_no_truncate
before truncate on audit.admin_audit_logs
for each statement execute function audit.refuse_change();

create function audit.require_admin(
  p_actor_user_id uuid, p_actor_email text, p_actor_role text, p_request_id text
) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_actor_role is distinct from 'admin' or not exists (
    select from identity.users u
    where u.id = p_actor_user_id
      and 'admin' = any (string_to_array(u.role, ','))
      and lower(btrim(u.email)) = lower(btrim(p_actor_email))
      and not (u.banned and (u.ban_expires is null or u.ban_expires > now()))
  ) then
    raise exception 'administrator access required' using errcode = '42501';
  end if;
  if p_request_id is null or char_length(p_request_id) not between 1 and 200 then
    raise exception 'the request id must have 1 to 200 characters' using errcode = '22023';
  end if;
end
$$;

create function audit.code_value(p_code public.redemption_codes) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'code_mask', p_code.code_mask,
    'credits', p_code.credits,
    'expires_at', p_code.expires_at,
    'note', p_code.note,
    'revoked_at', p_code.revoked_at,
    'revoked_by', p_code.revoked_by
  )
$$;

create function audit.record_code_change(
  p_actor_user_id uuid, p_actor_email text, p_request_id text, p_action text,
  p_before public.redemption_codes, p_after public.redemption_codes
) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  insert into audit.admin_audit_logs (
    actor_user_id, actor_email, actor_role, action, target_type, target_id,
    before_value, after_value, request_id
  ) values (
    p_actor_user_id, lower(btrim(p_actor_email)), 'admin', p_action, 'redemption_code', (p_after).id::text,
    case when (p_before).id is not null then audit.code_value(p_before) end,
    audit.code_value(p_after), p_request_id
  )
$$;

create function public.admin_create_redemption_codes(
  p_actor_user_id uuid, p_actor_email text, p_actor_role text, p_request_id text, p_codes jsonb
) returns table (
  id uuid, code_mask text, credits integer, expires_at timestamptz, note text, created_at timestamptz,
  redeemed_by uuid, redeemed_email text, redeemed_at timestamptz, revoked_by uuid, revoked_at timestamptz
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_wanted jsonb;
  v_code public.redemption_codes;
begin
  perform audit.require_admin(p_actor_user_id, p_actor_email, p_actor_role, p_request_id);
  if jsonb_typeof(p_codes) is distinct from 'array'
    or jsonb_array_length(p_codes) not between 1 and 100 then
    raise exception 'a batch must have 1 to 100 codes' using errcode = '22023';
  end if;

  for v_wanted in
    select e.value from jsonb_array_elements(p_codes) with ordinality as e (value, position)
    order by e.position
  loop
    insert into public.redemption_codes as c
      (code_hash, code_mask, credits, expires_at, note, created_by)
    values (
      v_wanted ->> 'codeHash', v_wanted ->> 'codeMask', (v_wanted ->> 'credits')::integer,
      (v_wanted ->> 'expiresAt')::timestamptz, v_wanted ->> 'note', p_actor_user_id
    )
    returning c.* into v_code;
    perform audit.record_code_change(
      p_actor_user_id, p_actor_email, p_request_id, 'redemption_code.create', null, v_code
    );
    return query select
      v_code.id, v_code.code_mask, v_code.credits, v_code.expires_at, v_code.note, v_code.created_at,
      v_code.redeemed_by, v_code.redeemed_email, v_code.redeemed_at, v_code.revoked_by, v_code.revoked_at;
  end loop;
end
$$;

create function public.admin_update_redemption_code(
  p_actor_user_id uuid, p_actor_email text, p_actor_role text, p_request_id text, p_code_id uuid,
  p_set_note boolean, p_note text, p_set_expires_at boolean, p_expires_at timestamptz
) returns table (
  id uuid, code_mask text, credits integer, expires_at timestamptz, note text, created_at timestamptz,
  redeemed_by uuid, redeemed_email text, redeemed_at timestamptz, revoked_by uuid, revoked_at timestamptz
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_before public.redemption_codes;
  v_after public.redemption_codes;
begin
  perform audit.require_admin(p_actor_user_id, p_actor_email, p_actor_role, p_request_id);
  if p_set_note is not true and p_set_expires_at is not true then
    raise exception 'nothing to change' using errcode = '22023';
  end if;
  if p_set_note and char_length(p_note) > 500 then
    raise exception 'a note must have at most 500 characters' using errcode = '22023';
  end if;

  select * into v_before from public.redemption_codes c where c.id = p_code_id for update;
  if not found then
    raise exception 'redemption code not found' using errcode = 'P0002';
  end if;
  if v_before.redeemed_at is not null or v_before.revoked_at is not null then
    raise exception 'redemption code is immutable' using errcode = '55000';
  end if;

  update public.redemption_codes c set
    note = case when p_set_note then p_note else c.note end,
    expires_at = case when p_set_expires_at then p_expires_at else c.expires_at end
  where c.id = p_code_id
  returning c.* into v_after;
  perform audit.record_code_change(
    p_actor_user_id, p_actor_email, p_request_id, 'redemption_code.update', v_before, v_after
  );
  return query select
    v_after.id, v_after.code_mask, v_after.credits, v_after.expires_at, v_after.note, v_after.created_at,
    v_after.redeemed_by, v_after.redeemed_email, v_after.redeemed_at, v_after.revoked_by, v_after.revoked_at;
end
$$;

create function public.admin_revoke_redemption_code(
  p_actor_user_id uuid, p_actor_email text, p_actor_role text, p_request_id text, p_code_id uuid
) returns table (
  id uuid, code_mask text, credits integer, expires_at timestamptz, note text, created_at timestamptz,
  redeemed_by uuid, redeemed_email text, redeemed_at timestamptz, revoked_by uuid, revoked_at timestamptz
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_before public.redemption_codes;
  v_after public.redemption_codes;
begin
  perform audit.require_admin(p_actor_user_id, p_actor_email, p_actor_role, p_request_id);

  select * into v_before from public.redemption_codes c where c.id = p_code_id for update;
  if not found then
    raise exception 'redemption code not found' using errcode = 'P0002';
  end if;
  if v_before.redeemed_at is not null then
    raise exception 'redemption code cannot be revoked' using errcode = '55000';
  end if;
  if v_before.revoked_at is not null then
    raise exception 'redemption code is already revoked' using errcode = '55000';
  end if;

  update public.redemption_codes c set revoked_at = now(), revoked_by = p_actor_user_id
  where c.id = p_code_id
  returning c.* into v_after;
  perform audit.record_code_change(
    p_actor_user_id, p_actor_email, p_request_id, 'redemption_code.revoke', v_before, v_after
  );
  return query select
    v_after.id, v_after.code_mask, v_after.credits, v_after.expires_at, v_after.note, v_after.created_at,
    v_after.redeemed_by, v_after.redeemed_email, v_after.redeemed_at, v_after.revoked_by, v_after.revoked_at;
end
$$;

revoke all on all functions in schema identity from public;
revoke all on all functions in schema audit from public;
revoke all on function
  public.admin_create_redemption_codes(uuid, text, text, text, jsonb),
  public.admin_update_redemption_code(
    uuid, text, text, text, uuid, boolean, text, boolean, timestamptz
  ),
  public.admin_revoke_redemption_code(uuid, text, text, text, uuid)
from public;
grant execute on function
  public.admin_create_redemption_codes(uuid, text, text, text, jsonb),
  public.admin_update_redemption_code(
    uuid, text, text, text, uuid, boolean, text, boolean, timestamptz
  ),
  public.admin_revoke_redemption_code(uuid, text, text, text, uuid)
to service_role;

grant usage on schema audit to admin_runtime, service_role;
grant select on audit.admin_audit_logs to admin_runtime, service_role;
grant usage on schema identity to admin_runtime;
grant select on identity.users to admin_runtime;
-- From here on the actor is read from identity.users, and not by service_role.
revoke select (id, email) on auth.users from service_role;

-- All but code_hash and created_by.
grant select (
  id, code_mask, credits, expires_at, note, created_at,
  redeemed_by, redeemed_email, redeemed_at, revoked_at, revoked_by
) on public.redemption_codes to admin_runtime;
create policy admin_runtime_reads on public.redemption_codes
for select to admin_runtime using (true);

reset role;
