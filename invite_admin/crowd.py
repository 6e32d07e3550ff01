"""How many heavy jobs there are, and how many there may be: constants, the same for everybody."""

from __future__ import annotations

from dataclasses import dataclass

PLACES, QUEUE = 2, 4  # heavy jobs that run at a time on a database, and that wait


@dataclass(frozen=True)
class Crowd:
    """The heavy jobs of this tool on a database at one moment."""

    running: int
    waiting: int

    @property
    def full(self) -> bool:
        """Whether another one is refused."""
        return self.running + self.waiting >= PLACES + QUEUE
