-- Step 2: a code can be revoked. Run as a superuser, in one transaction, after step 1.

set role schema_owner;

alter table public.redemption_codes
  add column revoked_at timestamptz,
  add column revoked_by uuid,
  add constraint redemption_codes_revoked_check
    check ((revoked_by is null) = (revoked_at is null)),
  add constraint redemption_codes_redeemed_or_revoked_check
    check (redeemed_at is null or revoked_at is null);

create index redemption_codes_revoked_at_idx on public.redemption_codes (revoked_at)
where revoked_at is not null;

create or replace function public.redeem_code(p_code_hash text)
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
  if v_code.revoked_at is not null then
    return query select false, null::integer, 'revoked_code';
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

reset role;
