"""What the sandbox holds at each step, and how a code is redeemed in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest
from sandboxes import add_code, as_owner, data_folder, hash_of, server

from invite_admin import sandbox
from invite_admin.errors import BadInput, Busy, Failed, NotFound
from invite_admin.sandbox import files, world
from invite_admin.sandbox.connection import connected

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TESTER = "tester01@example.com"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandbox.Access]:
    """A sandbox of this module's own."""
    with data_folder(tmp_path_factory.mktemp("sandbox")):
        yield sandbox.open_sandbox(lambda _: None)


@pytest.fixture
def emptied(opened: sandbox.Access) -> sandbox.Access:
    """The same at its last step and without codes."""
    assert opened.users
    return sandbox.reset(3, lambda _: None)


def test_operator_is_no_superuser(emptied: sandbox.Access) -> None:
    """The login is the operator's own; it may not read a hash, and its write role may."""
    with psycopg.connect(emptied.url, autocommit=True) as connection:
        rows = connection.execute(
            "select current_user::text, rolsuper from pg_roles where rolname = current_user"
        ).fetchall()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("select code_hash from public.redemption_codes")
        connection.execute("set role service_role")
        connection.execute("select code_hash from public.redemption_codes")

    assert [("admin_runtime", False)] == rows


def test_actor_is_an_administrator(emptied: sandbox.Access) -> None:
    """The actor's row has the admin role; the testers' rows have not."""
    with psycopg.connect(emptied.url) as connection:
        admins = connection.execute(
            "select email from identity.users where 'admin' = any (string_to_array(role, ','))"
        ).fetchall()

    assert [(emptied.actor,)] == admins


@pytest.mark.parametrize("step", [1, 2, 3])
def test_reset_goes_to_each_step(opened: sandbox.Access, step: int) -> None:
    """A reset leaves that step's structure, its people and no codes, in the same server."""
    assert opened.users
    add_code("KEPT")
    pid = server().pid

    access = sandbox.reset(step, lambda _: None)

    with psycopg.connect(server().superuser_url(world.DATABASE)) as connection:
        found = connection.execute(
            "select (select count(*) from public.redemption_codes),"
            " (select count(*) from auth.users), (select count(*) from public.profiles),"
            " (select count(*) from pg_attribute where attname = 'revoked_at'"
            " and attrelid = 'public.redemption_codes'::regclass),"
            " to_regclass('audit.admin_audit_logs') is not null"
        ).fetchone()
    assert (0, 31, 31, int(step > 1), step > 2) == found
    assert (step, step, pid) == (access.step, sandbox.status().step, server().pid)


def test_reset_ends_open_sessions(emptied: sandbox.Access) -> None:
    """Somebody's forgotten session does not keep the database."""
    with psycopg.connect(emptied.url) as forgotten:
        forgotten.execute("select count(id) from public.redemption_codes")

        assert emptied == sandbox.reset(3, lambda _: None)
        with pytest.raises(psycopg.OperationalError):
            forgotten.execute("select 1")


def test_reset_refuses_other_steps() -> None:
    """There is no step 4."""
    with pytest.raises(BadInput, match="steps 1 to 3"):
        sandbox.reset(4, lambda _: None)


def test_redeem_gives_the_points(emptied: sandbox.Access) -> None:
    """A code is redeemed once, as the application would note it."""
    code = add_code("GOOD")

    first = sandbox.redeem(code, " Tester02@Example.com ")
    second = sandbox.redeem(code, TESTER)

    with psycopg.connect(emptied.url) as connection:
        redeemed = connection.execute(
            "select redeemed_email, redeemed_by from public.redemption_codes"
        ).fetchall()
    assert sandbox.RedeemResult(success=True, balance=10, error_code=None) == first
    assert (
        sandbox.RedeemResult(success=False, balance=None, error_code="already_redeemed") == second
    )
    assert [("tester02@example.com", world.user_id("tester02@example.com"))] == redeemed


@pytest.mark.parametrize(
    ("columns", "values", "word"),
    [
        (", expires_at", ", now()", "expired_code"),
        (", revoked_at, revoked_by", ", now(), gen_random_uuid()", "revoked_code"),
    ],
)
def test_redeem_refuses(emptied: sandbox.Access, columns: str, values: str, word: str) -> None:
    """A code that cannot be redeemed gets the application's own word."""
    code = add_code("DEAD", columns, values)

    assert word == sandbox.redeem(code, emptied.users[0]).error_code


def test_redeem_knows_no_such_code(emptied: sandbox.Access) -> None:
    """A hash that no row has is an invalid code."""
    assert "invalid_code" == sandbox.redeem(hash_of("NONE"), emptied.users[0]).error_code


def test_redeem_without_profile(emptied: sandbox.Access) -> None:
    """A user without a profile gets no points, and the code stays unused."""
    code = add_code("GOOD")
    as_owner(f"delete from public.profiles where email = '{TESTER}'")

    assert "profile_missing" == sandbox.redeem(code, TESTER).error_code
    assert sandbox.redeem(code, emptied.users[1]).success


def test_redeem_waits_with_a_bound(
    emptied: sandbox.Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A code that a transaction holds is reported as busy, without its hash."""
    code = add_code("HELD")
    monkeypatch.setattr("invite_admin.sandbox.connection._BOUNDS", "set lock_timeout = '100ms'")
    with psycopg.connect(server().superuser_url(world.DATABASE)) as holder:
        holder.execute("select from public.redemption_codes for update")

        with pytest.raises(Busy) as caught:
            sandbox.redeem(code, emptied.users[0])
    assert code not in str(caught.value)


def test_redeem_names_its_users(opened: sandbox.Access) -> None:
    """An unknown e-mail is answered with those that exist."""
    assert opened.users
    with pytest.raises(NotFound, match=r"tester01@example\.com … tester30@example\.com") as caught:
        sandbox.redeem(hash_of("GOOD"), "nobody@example.com")
    assert "nobody@" not in caught.value.message


def test_refused_statement_tells_no_hash(emptied: sandbox.Access) -> None:
    """A failure carries the SQLSTATE alone; neither it nor the server's log shows the hash."""
    assert emptied.users
    code = add_code("TWIN")

    with (
        pytest.raises(Failed, match="SQLSTATE 23505") as caught,
        connected(server().superuser_url(world.DATABASE)) as connection,
    ):
        connection.execute(
            "insert into public.redemption_codes (code_hash, code_mask, credits)"
            " select code_hash, code_mask, credits from public.redemption_codes"
        )
    log = (server().folder / "server.log").read_text()
    assert code not in str(caught.value) + repr(caught.value.__cause__) + log


def test_structure_inside_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SQL that a wheel carries is preferred to a folder beside the package."""
    for place in ("invite_admin/migrations_readonly", "migrations_readonly"):
        files.make_folder(tmp_path / place)
        (tmp_path / place / "roles.sql").touch()
    monkeypatch.setattr(world, "__file__", str(tmp_path / "invite_admin" / "sandbox" / "world.py"))

    assert tmp_path / "invite_admin" / "migrations_readonly" == world.structure_folder()
