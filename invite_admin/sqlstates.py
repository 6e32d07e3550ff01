"""From an SQLSTATE to the failure a person is told. DETAIL and CONTEXT are never read.

PostgreSQL puts a hash into the DETAIL of 23505 and 23514, so no text of the server passes here
but one fixed message, which tells a refused actor from a missing grant, and a column's name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from invite_admin import errors

if TYPE_CHECKING:
    from psycopg import Error

NOT_ADMIN = "administrator access required"  # the admin functions' 42501
LOCKED = frozenset({"55P03", "40P01"})
PASSING = frozenset({"40001", "40P01"})  # worth another try from the beginning
USED = frozenset({"55000", "P0002"})  # a used, void or unknown code, in the admin functions' words
# Classes of what is no single row's matter: statement, login, transaction, server, its resources;
# and of a value that was given: no text of the database's encoding, or none where one must be.
_NULL = "23502"
_SHARED = (
    *("0", "22021", "22P05", _NULL, "24", "25", "26", "28", "2B", "2D", "2F", "3", "40", "42"),
    *("53", "54", "55", "57", "58", "72", "F0", "HV", "XX"),
)
_LONGEST_NAME = 63  # bytes of PostgreSQL's names; whatever a function raises, a hash is longer

# What a server without a free connection says while connecting.
FULL = r"too many (clients|connections)|connection slots|no more connections"

_Told = tuple[type[errors.InviteError], str, str | None]

# The first entry whose key the SQLSTATE begins with counts: the longer key stands first.
_BY_STATE: tuple[tuple[str, _Told], ...] = (
    ("23505", (errors.Conflict, "a value that must be unique is there already", None)),
    ("23", (errors.Failed, "the database refused a value by a rule of the table", None)),
    ("25006", (errors.Unavailable, "this server or session allows reading only",
               "run `invite check`; on a standby, connect to the primary")),
    ("25P03", (errors.Unavailable, ("the transaction stood still too long (did its reader stop?), "
               "so the server ended it"), "[timeouts] idle in the settings is the bound")),
    ("22021", (errors.BadInput, "a text does not fit the database's encoding", ("a note that was "
               "given, or one that is stored"))),
    ("22P05", (errors.BadInput, "a text does not fit the database's encoding", ("a note that was "
               "given, or one that is stored"))),
    ("22", (errors.BadInput, "the database refused a value", None)),
    ("28", (errors.Denied, "the server refused this login", None)),
    ("3D000", (errors.Unavailable, "the server has no such database", None)),
    ("3F000", (errors.Unsupported, "a schema that the command needs is not there",
               "run `invite check`")),
    ("40", (errors.Busy, "another transaction got in the way", "run the command again")),
    ("42501", (errors.Denied, ("the server refused: this login lacks a right that the command "
               "needs"), ("run `invite check`; where it names no GRANT, ask the application's "
               "team"))),
    ("42", (errors.Unsupported, "the table is not as this command needs it",
            "run `invite check`; where it names nothing, ask the application's team")),
    ("0A000", (errors.Unsupported, "the server does not support what the command needs", None)),
    ("53100", (errors.Failed, "the server's disk is full", None)),
    ("53300", (errors.Unavailable, "the server has no connection free", ("wait a little; run the "
               "command again"))),
    ("53", (errors.Unavailable, "the server is out of resources", None)),
    ("55P03", (errors.Busy, "a row or the table stayed locked longer than the lock timeout",
               "run the command again")),
    ("55", (errors.Conflict, "a code is not in the state that the change needs", None)),
    ("57014", (errors.Unavailable, "the statement took longer than allowed, or was cancelled",
               ("[timeouts] statement in the settings is the bound; before it, somebody "
               "cancelled the statement"))),
    ("57", (errors.Unavailable, "the server ended the connection", ("run the command again once "
            "the server is back"))),
    ("08P01", (errors.Unavailable, "the server, or a pooler before it, broke off", (
               "a pooler may have no connection free, or pool by statement; its log says it"))),
    ("08", (errors.Unavailable, "the connection to the server was lost", ("run the command again "
            "once the server is back"))),
    ("P0002", (errors.NotFound, "there is no such code", None)),
)  # fmt: skip


def of_a_row(state: str | None) -> bool:
    """Tell whether a failure may be the matter of a single row, and others could be changed.

    That is a lock, or a refusal: by a rule or a trigger of the table, whose SQLSTATE may be of its
    own making, or by an admin function.
    """
    if state is None:
        return False
    return state in LOCKED | USED or not state.startswith(_SHARED)


def translate(error: Error) -> errors.InviteError:
    """Return what a person is told of a driver's error outside COMMIT; nothing was stored."""
    told = _translate(error)
    told.transient = error.sqlstate in PASSING
    return told


def _translate(error: Error) -> errors.InviteError:
    state = error.sqlstate or "08000"
    if state == "42501" and error.diag.message_primary == NOT_ADMIN:
        return errors.Denied(
            f"the database does not accept the actor as an administrator; {errors.NOTHING_CHANGED}",
            hint="run `invite check`; it says what is wrong with the actor",
        )
    column = error.diag.column_name or ""
    if state == _NULL and 0 < len(column) <= _LONGEST_NAME:
        return _empty(column)
    for prefix, (kind, message, hint) in _BY_STATE:
        if state.startswith(prefix):
            known = f" (SQLSTATE {error.sqlstate})" if error.sqlstate else ""
            return kind(f"{message}; {errors.NOTHING_CHANGED}{known}", hint=hint)
    return errors.Failed(f"the database failed; {errors.NOTHING_CHANGED} (SQLSTATE {state})")


def _empty(column: str) -> errors.InviteError:
    return errors.Failed(
        f"the database wants a value in {column}, and got none; {errors.NOTHING_CHANGED} "
        f"(SQLSTATE {_NULL})",
        hint="give one where an option does; else ask the application's team for a default there",
    )


_BAD_VALUE: _Told = (
    errors.BadInput,
    "a connection parameter has a value that cannot be used",
    "check the URL and the PG variables",
)
# What libpq says of a server that answers and is not what target_session_attrs asks for.
_OTHER_ROLE = r"session is (not )?read-only|server is (not )?in hot standby mode"

# The server's words reach the client without an SQLSTATE while connecting: matched, never shown.
_BY_TEXT: tuple[tuple[str, _Told], ...] = (
    (r"definition of service",
     (errors.BadInput, "the service is not in the service file", ("check PGSERVICE and "
      "~/.pg_service.conf"))),
    (r"service file",
     (errors.BadInput, "the service file is not there, or holds a line that libpq does not know",
      "check PGSERVICEFILE and ~/.pg_service.conf")),
    (r"no password supplied",
     (errors.Denied, "the server asks for a password, and none was given", ("a line in the "
      "password file (mode 0600), which is ~/.pgpass, unless PGPASSFILE or `passfile` in the URL "
      "names another"))),
    (r"received invalid response|expected authentication request|unexpected response",
     (errors.Unavailable, "what answers there is no PostgreSQL server", "check host and port")),
    (r"invalid sslmode value",
     (errors.BadInput, "sslmode has a value that is not known", ("it is one of disable, "
      "allow, prefer, require, verify-ca and verify-full"))),
    (r"invalid port number|connection option \"port\"",
     (errors.BadInput, "the port is no number from 1 to 65535", _BAD_VALUE[2])),
    (r"invalid \w+ value|invalid value for parameter", _BAD_VALUE),
    (r"GSSAPI encryption required|channel binding required",
     (errors.Unavailable, "the server does not offer what gssencmode or channel_binding asks for",
      "check both in the URL and the PG variables")),
    (r"authentication method requirement",
     (errors.Unavailable, "the server does not offer a login as require_auth asks for it",
      "check require_auth in the URL, and PGREQUIREAUTH")),
    (r"password authentication failed|authentication failed|SASL",
     (errors.Denied, "the server refused this login: wrong login or password", ("check both; a "
      "URL wants @ : / ? # of a password as %40 %3A %2F %3F %23, a password file : as \\:"))),
    (r"pg_hba\.conf|not permitted to log in|role .* does not exist|not permitted",
     (errors.Denied, "the server does not let this login in from here", ("check the login: where "
      "neither the URL nor PGUSER names one, it is your name on this machine"))),
    (r"permission denied for database",
     (errors.Denied, "this login may not connect to that database", None)),
    (r"database .* does not exist",
     (errors.Unavailable, "the server has no such database", "check the URL's last part")),
    (FULL,
     (errors.Unavailable, "the server has no connection free", ("wait a little; run the command "
      "again"))),
    (r"starting up|shutting down|recovery mode|not yet accepting|not accepting connections",
     (errors.Unavailable, "the server is starting or stopping", ("wait a little; run the command "
      "again"))),
    (r"closed the connection unexpectedly|terminated abnormally",
     (errors.Unavailable, "the server closed the connection", ("wait a little; run the command "
      "again"))),
    (_OTHER_ROLE,  # of several hosts, one that answered counts more than those that did not
     (errors.Unavailable, "no server is in the role that target_session_attrs asks for",
      "check target_session_attrs in the URL, and PGTARGETSESSIONATTRS")),
    (r"could not translate host name|resolve host|Name or service not known|'idna' codec",
     (errors.Unavailable, "the host's name cannot be resolved", ("check the host in the URL; "
      "an @ : / ? # in a login or password there is written %40 %3A %2F %3F %23"))),
    (r"does not match host name",
     (errors.Unavailable, "the server's certificate is for another host name", ("the host in the "
      "URL must be one that the certificate names"))),
    (r"does not support SSL|SSL (connection|error)|certificate|sslmode|root\.crt",
     (errors.Unavailable, "no encrypted connection as `sslmode` asks for it", ("check sslmode; "
      "verify-full needs the authority's certificate: sslrootcert=FILE in the URL, or "
      "~/.postgresql/root.crt"))),
    (r"timeout expired|timed out",
     (errors.Unavailable, "no answer within the connect timeout", ("check host and port; "
      "[timeouts] connect in the settings is the bound"))),
    (r"Connection refused|No such file or directory|No route|unreachable|reset by peer",
     (errors.Unavailable, "nothing answers there", ("check that the server runs, and host and "
      "port"))),
    (r"invalid|could not match|must be|bad value", _BAD_VALUE),
)  # fmt: skip


# A server that is starting, restarting or failing over.
_PASSING_TEXT = (
    r"Connection refused|No such file or directory|reset by peer|starting up|shutting down|"
    r"not yet accepting|not accepting connections|closed the connection unexpectedly|"
    rf"{_OTHER_ROLE}"
)


def translate_connecting(error: Exception) -> errors.InviteError:
    """Return what a person is told of a connection that could not be made."""
    text = str(error)
    for pattern, (kind, message, hint) in _BY_TEXT:
        if re.search(pattern, text):
            told = kind(f"cannot connect: {message}; {errors.NOTHING_CHANGED}", hint=hint)
            passes = re.search(_PASSING_TEXT, text) is not None
            told.transient = passes and kind is errors.Unavailable
            return told
    return errors.Unavailable(
        f"cannot connect to the database; {errors.NOTHING_CHANGED}",
        hint="check host, port, login and sslmode with psql and the same URL",
    )
