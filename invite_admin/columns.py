"""The columns of the reports: their keys are a promise to scripts."""

from __future__ import annotations

from dataclasses import replace

from invite_admin.report import Cell, Column

_NUMBER, _MASK, _TIME, _PROSE = Cell.NUMBER, Cell.MASK, Cell.TIME, Cell.PROSE

GENERATED = (
    Column("id", brief=False),
    Column("code", _MASK),
    Column("mask", _MASK, brief=False),
    Column("points", _NUMBER),
    Column("expires_at", _TIME, blank="never"),
    Column("note", _PROSE),
)

CODE = (
    Column("id", brief=False),
    Column("mask", _MASK),
    Column("status"),
    Column("points", _NUMBER),
    Column("expires_at", _TIME, blank="never"),
    Column("note", _PROSE),
    Column("created_at", _TIME, brief=False),
    Column("created_by", brief=False),
    Column("redeemed_by", brief=False),
    Column("redeemed_email", brief=False),
    Column("redeemed_at", _TIME, brief=False),
    Column("revoked_at", _TIME, brief=False),
    Column("revoked_by", brief=False),
)

SHOWN = (
    *(replace(column, blank="") for column in CODE),
    Column("position", _NUMBER),
    Column("reason", _PROSE),
)

REDEEMED = (
    Column("id", brief=False),
    Column("mask", _MASK),
    Column("points", _NUMBER),
    Column("redeemed_by", brief=False),
    Column("redeemed_email"),
    Column("redeemed_at", _TIME),
    Column("note", _PROSE),
)

CHANGED = (
    Column("position", _NUMBER),
    Column("id", brief=False),
    Column("mask", _MASK),
    Column("outcome"),
    Column("detail", _PROSE),
)

UPDATED = (*CHANGED, Column("expires_at", _TIME), Column("note", _PROSE))

STATS = (
    Column("group", _PROSE, blank="(no note)"),
    *(Column(key, _NUMBER) for key in ("issued", "available", "redeemed", "revoked", "expired")),
    Column("points_issued", _NUMBER, brief=False),
    *(Column(key, _NUMBER) for key in ("points_redeemed", "points_open")),
    Column("redeemed_share", _NUMBER, brief=False),
)

SANDBOX = (
    Column("folder"),
    Column("running"),
    Column("pid"),
    Column("step"),
    Column("server_version"),
    Column("codes", _NUMBER),
    Column("psql", Cell.LINE),
)

SANDBOX_REDEEMED = (Column("mask", _MASK), Column("email"), Column("balance", _NUMBER))

SMOKE = (
    *(Column(key, _NUMBER) for key in ("tier", "users", "attempts", "redeemed", "refused")),
    *(Column(key, _NUMBER) for key in ("busy", "errors", "double", "busy_share")),
    *(Column(key, _NUMBER) for key in ("points_credited", "points_expected")),
    *(Column(key, _NUMBER) for key in ("first_p50", "first_p95", "first_max")),
    *(Column(key, _NUMBER) for key in ("whole_p50", "whole_p95", "whole_max")),
    Column("met"),
)
