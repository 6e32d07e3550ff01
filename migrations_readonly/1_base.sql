-- Step 1: people, their points, and codes that can be made and redeemed.
-- Run as a superuser, in one transaction, after roles.sql. Everything belongs to schema_owner.

create schema auth authorization schema_owner;
-- PostgreSQL 14 still lets everybody create objects here.
revoke create on schema public from public;
grant usage, create on schema public to schema_owner;

set role schema_owner;

create table auth.users (
  id uuid not null default gen_random_uuid(),
  email text,
  constraint users_pkey primary key (id)
);

create function auth.uid() returns uuid
language sql stable
as $$
  select nullif(pg_catalog.current_setting('request.jwt.claim.sub', true), '')::uuid
$$;

create function auth.jwt() returns jsonb
language sql stable
as $$
  select pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
    'sub', nullif(pg_catalog.current_setting('request.jwt.claim.sub', true), ''),
    'email', nullif(pg_catalog.current_setting('request.jwt.claim.email', true), '')
  ))
$$;

create table public.profiles (
  id uuid not null,
  email text,
  credits integer not null default 0,
  constraint profiles_pkey primary key (id),
  constraint profiles_id_fkey foreign key (id) references auth.users (id) on delete cascade,
  constraint profiles_credits_check check (credits >= 0)
);

create function auth.keep_profile() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into public.profiles as p (id, email)
  values (new.id, new.email)
  on conflict (id) do update set email = excluded.email;
  return null;
end
$$;

create trigger users_keep_profile
after insert or update of email on auth.users
for each row execute function auth.keep_profile();

create table public.redemption_codes (
  id uuid not null default gen_random_uuid(),
  code_hash text not null,
  code_mask text not null,
  credits integer not null,
  expires_at timestamptz,
  note text,
  created_by uuid,
  created_at timestamptz not null default now(),
  redeemed_by uuid,
  redeemed_email text,
  redeemed_at timestamptz,
  constraint redemption_codes_pkey primary key (id),
  constraint redemption_codes_code_hash_key unique (code_hash),
  constraint redemption_codes_code_hash_check check (code_hash ~ '^[0-9a-f]{64}$'),
  constraint redemption_codes_code_mask_check check (starts_with(code_mask, 'JYOTISH-****-')),
  constraint redemption_codes_credits_check check (credits > 0),
  constraint redemption_codes_created_by_fkey
    foreign key (created_by) references auth.users (id) on delete set null,
  constraint redemption_codes_redeemed_check
    check ((redeemed_by is null) = (redeemed_at is null))
);

create index redemption_codes_created_at_idx on public.redemption_codes (created_at desc);

alter table public.redemption_codes enable row level security;

create table public.credit_transactions (
  id uuid not null default gen_random_uuid(),
  user_id uuid not null,
  transaction_type text not null,
  amount integer not null,
  balance_after integer not null,
  request_id text not null,
  redemption_code_id uuid,
  created_at timestamptz not null default now(),
  constraint credit_transactions_pkey primary key (id),
  constraint credit_transactions_user_id_fkey
    foreign key (user_id) references auth.users (id) on delete cascade,
  constraint credit_transactions_transaction_type_check
    check (transaction_type in ('redeem', 'reserve', 'refund')),
  constraint credit_transactions_request_id_check
    check (char_length(request_id) between 1 and 200),
  constraint credit_transactions_redemption_code_id_key unique (redemption_code_id)
);

create function public.redeem_code(p_code_hash text)
returns table (success boolean, credits integer, error_code text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_user_id uuid := auth.uid();
  v_code public.redemption_codes;
  v_balance integer;
begin
  if v_user_id is null then
    return query select false, null::integer, 'unauthorized';
    return;
  end if;

  select * into v_code from public.redemption_codes c where c.code_hash = p_code_hash for update;
  if not found then
    return query select false, null::integer, 'invalid_code';
    return;
  end if;
  if v_code.redeemed_at is not null then
    return query select false, null::integer, 'already_redeemed';
    return;
  end if;
  if v_code.expires_at <= now() then
    return query select false, null::integer, 'expired_code';
    return;
  end if;

  update public.profiles p set credits = p.credits + v_code.credits
  where p.id = v_user_id
  returning p.credits into v_balance;
  if not found then
    return query select false, null::integer, 'profile_missing';
    return;
  end if;

  update public.redemption_codes c
  set redeemed_by = v_user_id, redeemed_email = auth.jwt() ->> 'email', redeemed_at = now()
  where c.id = v_code.id;
  insert into public.credit_transactions
    (user_id, transaction_type, amount, balance_after, request_id, redemption_code_id)
  values (v_user_id, 'redeem', v_code.credits, v_balance, v_code.id::text, v_code.id);
  return query select true, v_balance, null::text;
end
$$;

revoke all on all functions in schema auth from public;
revoke all on function public.redeem_code(text) from public;

grant usage on schema auth to authenticated, service_role;
grant execute on function auth.uid(), auth.jwt() to authenticated, service_role;
grant execute on function public.redeem_code(text) to authenticated;
grant select, insert on public.redemption_codes to service_role;
-- An assumption (see README.md): without it no login but the owner could name who acts.
grant select (id, email) on auth.users to service_role;

reset role;
