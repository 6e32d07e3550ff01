"""What the embedded server's configuration files say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PORT = 5432  # part of the socket's name; no network port is opened
HBA = "local all all scram-sha-256\n"
_SETTINGS = {
    "listen_addresses": "",
    "port": PORT,
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    "max_connections": 60,
    # Small and few: the server stays behind on somebody's laptop.
    "shared_buffers": "32MB",
    "huge_pages": "off",
    "jit": "off",
    "io_method": "sync",
    "max_parallel_workers": 0,
    "max_logical_replication_workers": 0,
    "max_wal_senders": 0,
    "wal_level": "minimal",
    "max_wal_size": "128MB",
    "min_wal_size": "32MB",
    # Nothing here has a value that a power cut could take; a killed process loses nothing.
    "fsync": "off",
    "full_page_writes": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    # No hash, no statement and no DETAIL may reach the log.
    "log_min_messages": "fatal",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}


def configuration(socket_folder: Path, hba: Path) -> str:
    """Return the text of postgresql.conf.

    Args:
        socket_folder: Where the socket goes, short and without a comma.
        hba: The file that says who may log in.
    """
    settings = {**_SETTINGS, "unix_socket_directories": socket_folder, "hba_file": hba}
    return "".join(f"{name} = {_quoted(value)}\n" for name, value in settings.items())


def _quoted(value: object) -> str:
    text = str(value).replace("\\", "\\\\").replace("'", "''")
    return f"'{text}'"
