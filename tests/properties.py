"""How properties are tried: no example is timed, since a test machine may be slow for a while."""

from __future__ import annotations

from typing import Final

from hypothesis import HealthCheck, settings

PATIENT: Final = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
