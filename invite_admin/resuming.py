"""Takes up a batch again whose run ended before its end was known."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC
from typing import TYPE_CHECKING

from invite_admin import limits, output, pending, text
from invite_admin.codes import shown_path
from invite_admin.delivery import withdrawn
from invite_admin.errors import NOTHING_CHANGED, BadInput, Conflict, OverLimit
from invite_admin.filed import ToFile
from invite_admin.files import PENDING
from invite_admin.hold import Hold
from invite_admin.limits import Demand
from invite_admin.model import Capability, Status
from invite_admin.run import Target

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from invite_admin.batch import Batch
    from invite_admin.job import Job
    from invite_admin.pending import Pending
    from invite_admin.report import Report
    from invite_admin.run import Run
    from invite_admin.store import Batches, Store


def resume(job: Job, path: Path, report_of: Callable[..., Report]) -> None:
    """Settle a batch: stored already, its file is made; else exactly its codes are stored now.

    Args:
        job: The command; its target may name another file.
        path: The pending file.
        report_of: Makes the report of a batch, as ``generate.batch_report`` does.

    Raises:
        BadInput: The file is not whole, or is of another database or actor.
        Conflict: Only a part of the batch is there, or whether it is cannot be known.
        InviteError: As for a new batch.
    """
    run = job.run
    with run.stoppable(), closing(Hold()) as hold:
        pending.require(path)
        final = job.target.path or _final(path)
        found = _read(path, hold.take(path), run)
        target = _target(job.target, found, final)
        delivery = ToFile(run, target, path, hold)
        report = _settled(job, found, delivery, report_of)
        job.confirm(report, delivery)


def _settled(
    job: Job, found: Pending, delivery: ToFile, report_of: Callable[..., Report]
) -> Report:
    from invite_admin.store import Batches  # noqa: PLC0415 - heavy

    run, batch = job.run, found.batch
    with job.opened(writing=True) as store, withdrawn(delivery, run):
        _same_place(found, store, run)
        run.record.request_id = batch.request_id if store.named else None
        batches = Batches(store, lambda made: delivery.keep(made, store))
        run.gate.admit(store.session, batch.count)
        batches.begin(batch.request_id)
        stored = batches.stored(batch)
        if stored is None:
            raise _unclear(batch, store, batches, run)
        if stored:
            chosen = batches.choice(batch.request_id, batch.created_at)
            _take(found, store, run, chosen, delivery)
            return report_of(run, store, batch, chosen)
        run.say(f"the batch is not stored; its codes lie in {shown_path(delivery.kept)}")
        _still_allowed(found, store, run)
        run.say("storing exactly these codes now")
        with run.progress(batch.count, "codes sent") as advance:
            batch = batches.store(batch, advance)
        chosen = batches.choice(batch.request_id, batch.created_at)
        report = report_of(run, store, batch, chosen)
        job.hand_over(store, batches, report, delivery)
        return report


def _read(path: Path, descriptor: int, run: Run) -> Pending:
    """Read the file; of a damaged one, name what tells whether its codes are stored.

    A run that was killed while it wrote the file stored none; one that was damaged later is told
    apart by the table alone.
    """
    try:
        found = pending.read(path, descriptor)
    except pending.Damaged as damaged:
        raise BadInput(damaged.message, hint=_settling(run, damaged)) from None
    run.say(str(found.origin))
    return found


def _settling(run: Run, damaged: pending.Damaged) -> str:
    """Name what shows whether the codes of a damaged file are stored, and what voids them."""
    if (origin := damaged.origin) is None:
        lists = run.command_line("list", "--created-since", "1d", "--format", "csv")
        if damaged.empty:
            return (
                "a run that was killed so early stored nothing: remove the file, and generate "
                f"anew; was it emptied later, look for its codes by {lists}"
            )
        return (
            "before you remove it, look whether its codes are stored, by its note or its day, as "
            f"in {lists}, and void what is of this batch"
        )
    run.say(f"{origin}; connect to that one, then look")
    for what, verb in (("whether its codes are stored", "list"), ("to void them", "revoke")):
        run.say(f"{what}:")
        run.say(f"  {run.command_line(verb, *text.made_at(origin.created_at), '--format', 'csv')}")
    return (
        f"where that list, asked of database {origin.database}, has none, and no copy of the file "
        "was resumed, nothing is stored: remove the file"
    )


def _final(path: Path) -> Path:
    """Return the result file that a pending file stands for."""
    if path.suffix != PENDING:
        raise BadInput(
            f"{shown_path(path)} is not named FILE{PENDING}; nothing was done",
            hint="name the pending file that lies beside it, or the result by --output",
        )
    return path.with_suffix("")


def _target(asked: Target, found: Pending, final: Path) -> Target:
    """Return the result file, in the format that the batch was asked for.

    Raises:
        BadInput: Another format is asked for now.
    """
    other = asked.named and asked.form != found.form
    if other or asked.raw > found.raw or asked.bom > found.bom:
        raise BadInput(
            f"this batch is written as {found.form}, as it was asked for; {NOTHING_CHANGED}",
            hint="leave --format, --raw and --bom out; a file that --output names keeps its suffix",
        )
    return Target(found.form, final, found.raw, found.bom)


def _same_place(found: Pending, store: Store, run: Run) -> None:
    """Refuse a batch of another database or actor."""
    server, cluster = store.session.server, store.session.cluster()
    known = found.cluster and cluster
    same = found.cluster == cluster if known else found.server == server.address
    if not same or found.database != server.database:
        raise BadInput(
            f"this batch is of database {found.database} on {found.server}, and this is another; "
            f"{NOTHING_CHANGED}",
            hint="connect to that one",
        )
    actor = found.batch.actor
    if actor != store.actor.email:
        lists = run.command_line("list", *text.made_at(found.batch.created_at))
        raise BadInput(
            f"this batch is {actor}'s, and the actor is {store.actor.email}; {NOTHING_CHANGED}",
            hint=f"run it with INVITE_ACTOR={actor}; if that one is gone, look by {lists}",
        )


def _unclear(batch: Batch, store: Store, batches: Batches, run: Run) -> Conflict:
    """Say of a batch that is not stored as it was made what of it is in the table."""
    made = batches.made(batch.request_id) if store.shape.traced else []
    chosen = batches.choice(batch.request_id, made[0].at) if made else ()
    listed = run.command_line("list", *chosen, "--format", "csv")
    if not store.shape.ways[Capability.LOOKUP].available:
        return Conflict(
            f"it cannot be told whether exactly this batch is in the table; {NOTHING_CHANGED}",
            hint=f"{listed} shows ids to compare with those in the pending file",
        )
    from invite_admin.store.proof import there  # noqa: PLC0415 - heavy

    count, _ = there(store, batch)
    if not count:
        return Conflict(
            "none of its codes is in the table, and another batch has its request id by now; "
            f"{NOTHING_CHANGED}",
            hint=f"{listed} shows that one; remove the pending file, and only if that is not what "
            "was wanted make a new batch, under another request id",
        )
    return Conflict(
        f"{count:,} of its {text.counted(batch.count, 'code')} are in the table, and this file is "
        f"not what stored them: a copy of it was resumed, say; {NOTHING_CHANGED}",
        hint=f"{listed} shows what is there; if these codes were handed over, remove the pending "
        "file",
    )


def _take(
    found: Pending, store: Store, run: Run, chosen: tuple[str, ...], delivery: ToFile
) -> None:
    """Take a batch that is stored, unless some of its codes cannot be redeemed any more."""
    from invite_admin.store.proof import standing  # noqa: PLC0415 - heavy

    run.say("the batch is stored already")
    run.truth = "the batch is stored"
    run.record.request_id = store.named
    run.record.counts = {"already_stored": found.batch.count}
    if not store.shape.ways[Capability.READ].available:
        return
    now, changed = standing(store, found.batch)
    bad = {
        "in the table no more": found.batch.count - now.total(),
        **{str(status): count for status, count in now.items() if status is not Status.AVAILABLE},
    }
    told = ", ".join(f"{count:,} {what}" for what, count in bad.items() if count)
    if told:
        lists = run.command_line("list", *chosen, *output.telling(found.batch.count))
        raise Conflict(
            f"the batch was stored, and not all its codes are good any more: {told}; "
            f"{delivery.made}",
            hint=f"{shown_path(delivery.kept)} keeps them all until you remove it; {lists} shows "
            "what became of them",
        )
    if changed:
        run.say(f"{text.counted(changed, 'code')} got other terms since; the file has the first")


def _still_allowed(found: Pending, store: Store, run: Run) -> None:
    """Hold a batch to the rules for a new one."""
    terms, count, most = found.batch.terms, found.batch.count, run.preferences.limits
    now = store.session.server.now
    if terms.expires_at is not None and terms.expires_at <= now:
        shown = text.rfc3339(terms.expires_at.astimezone(UTC), run.preferences.timezone)
        raise BadInput(
            f"the expiry {shown} has passed since; {NOTHING_CHANGED}",
            hint="nothing is stored: remove the pending file, and generate the batch anew",
        )
    after = "then resume it, or remove the pending file"
    for name, wanted, limit in (
        ("codes_per_batch", count, most.codes_per_batch),
        ("points_per_code", terms.points, most.points_per_code),
    ):
        if wanted > limit:
            raise OverLimit(
                f"{name}: {wanted:,} of at most {limit:,}; {NOTHING_CHANGED}",
                hint=f"raise {name} of [limits] in the settings; {after}",
            )
    try:
        limits.check(store, run, Demand.of(count, terms.points), instead="raise it")
    except OverLimit as error:
        raise OverLimit(error.message, hint=f"{error.hint}; {after}") from None
