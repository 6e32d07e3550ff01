"""Which PostgreSQL server the tests use, how it is started, and how it is stopped."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import warnings
from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psycopg
from databases import PASSWORD, make_url
from docker.errors import DockerException  # type: ignore[import-untyped]
from testcontainers.community.postgres import PostgresContainer
from testcontainers.core.config import testcontainers_config
from testcontainers.core.docker_client import DockerClient

from invite_admin.errors import InviteError
from invite_admin.sandbox.server import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

URL_VARIABLE: Final = "INVITE_TEST_DATABASE_URL"
IMAGE_VARIABLE: Final = "INVITE_TEST_IMAGE"
EMBEDDED_PREFIX: Final = "invite-test-"
IMAGE: Final = os.environ.get(IMAGE_VARIABLE, "postgres:15")


class NoServerError(Exception):
    """The server chosen cannot be had; the message says why."""


class Kind(Enum):
    """The servers the tests know, and what the header calls them."""

    GIVEN = f"the server that {URL_VARIABLE} names"
    CONTAINER = f"testcontainers, {IMAGE}"
    EMBEDDED = "the sandbox's embedded PostgreSQL"


@dataclass(frozen=True)
class Choice:
    """The server of this run.

    Args:
        kind: Which one.
        reason: Why it is not testcontainers; empty where it is.
    """

    kind: Kind
    reason: str = ""

    @property
    def headline(self) -> str:
        """One line for the header of the run, loud where it is not testcontainers."""
        if self.kind is Kind.CONTAINER:
            return f"database server: {self.kind.value}"
        return f"database server: *** NOT TESTCONTAINERS *** {self.kind.value} ({self.reason})"


def choose() -> Choice:
    """Choose the server by what this machine has; starts nothing, but may pull the image."""
    if os.environ.get(URL_VARIABLE):
        return Choice(Kind.GIVEN, "as you asked")
    obstacle = _container_obstacle()
    return Choice(Kind.EMBEDDED, obstacle) if obstacle else Choice(Kind.CONTAINER)


@contextmanager
def running(choice: Choice) -> Iterator[str]:
    """Start the server chosen, give a superuser's URL, and stop what was started.

    Raises:
        NoServerError: Where it cannot be started or reached.
    """
    if choice.kind is Kind.GIVEN:
        yield os.environ[URL_VARIABLE]
        return
    with _container() if choice.kind is Kind.CONTAINER else _embedded() as url:
        yield url


def _container_obstacle() -> str:
    with warnings.catch_warnings():
        # Where Docker does not answer, its library leaves a socket to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        obstacle = _look_for_docker()
        gc.collect()
    return obstacle


def _look_for_docker() -> str:
    try:
        docker = DockerClient()
        with closing(docker.client) as client:
            client.ping()
            if not _has_image(docker, IMAGE):
                return f"Docker has no image {IMAGE} and cannot pull it"
            # Its reaper only tidies up after a killed run; without its image there is none.
            if not testcontainers_config.ryuk_disabled:
                reaper = _has_image(docker, testcontainers_config.ryuk_image)
                testcontainers_config.ryuk_disabled = not reaper
    except (DockerException, OSError):
        return "Docker does not answer"
    return ""


def _has_image(docker: DockerClient, image: str) -> bool:
    try:
        docker.client.images.get(image)
    except DockerException:
        try:
            docker.client.images.pull(image)
        except (DockerException, OSError):
            return False
    return True


@contextmanager
def _container() -> Iterator[str]:
    container = PostgresContainer(
        IMAGE, username="postgres", password=PASSWORD, dbname="postgres", driver=None
    )
    # In memory, where copying a template for each test is several times as fast.
    container.with_tmpfs_mount("/invite-test").with_env("PGDATA", "/invite-test/data")
    try:
        yield _container_url(container)
    finally:
        container.stop()


def _container_url(container: PostgresContainer) -> str:
    try:
        container.start()
        # What testcontainers guesses inside a container is often wrong where this one is right.
        hosts = (container.get_container_host_ip(), "127.0.0.1")
        port = str(container.get_exposed_port(container.port))
    except (DockerException, TimeoutError, ConnectionError) as error:
        raise NoServerError(f"its container did not start: {type(error).__name__}") from error
    account = {"user": "postgres", "password": PASSWORD, "port": port, "dbname": "postgres"}
    for host in hosts:
        url = make_url({**account, "host": host})
        if _answers(url):
            return url
    raise NoServerError(f"its container cannot be reached on port {port} of {' or '.join(hosts)}")


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


@contextmanager
def _embedded() -> Iterator[str]:
    _remove_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=f"{EMBEDDED_PREFIX}{os.getpid()}-"))
    server = Server(folder)
    try:
        try:
            server.start()
        except InviteError as error:
            raise NoServerError(
                f"{error.message}; or start Docker, or set {URL_VARIABLE}"
            ) from error
        yield server.superuser_url()
    finally:
        _remove(server, folder)


def _remove(server: Server, folder: Path) -> None:
    server.remove()
    shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned() -> None:
    """Remove the servers of runs that were killed: their folder names a process that is gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{EMBEDDED_PREFIX}*-*"):
        pid = folder.name.removeprefix(EMBEDDED_PREFIX).partition("-")[0]
        ours = folder.lstat().st_uid == os.getuid() and folder.is_dir()
        if ours and pid.isdecimal() and not _alive(int(pid)):
            _remove(Server(folder), folder)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
