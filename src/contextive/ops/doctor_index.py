"""What could be wrong with a project's index, and how to mend it, in plain words.

Nothing is mended here: an index that may be damaged is opened for reading only, before anything else would set it aside.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from contextive.config import LoadedConfig
from contextive.errors import ContextiveError
from contextive.ops.doctor_project import Diagnosis
from contextive.packs.knowledge.health import no_index_yet

if TYPE_CHECKING:
    from contextive.packs.introspect import HealthCheck
    from contextive.search.index import Index
    from contextive.server.host import Host
    from contextive.store.values import Discrepancy

_REBUILD = "Run contextive-mcp rebuild: what comes from files is made again, votes and history stay."
_START_OVER = (
    "Run contextive-mcp rebuild: it renames the file and builds it again, with the votes, runs and audit that are readable. "
    "contextive-mcp restore brings a backup back."
)
_SHARED_CHECKS = frozenset({"repair", "watcher"})
"""Checks of the server's health that are reported here as they are."""
_REPORTED_ELSEWHERE = frozenset({"read_only", "full", "repaired"})
"""Conditions of the store that the findings `state` and `repair` report."""
_OLD_BACKUP_DAYS = 30
_CATCH_UP_SECONDS = 3.0
_POLL_SECONDS = 0.5
_DAY_SECONDS = 86_400.0


##= docs/spec/commands.md#doctor
##% The doctor MUST leave a damaged index unchanged.
def diagnose_index(loaded: LoadedConfig) -> Iterator[Diagnosis]:
    """Every check of the index, from whether there is one to how old its backup is."""
    if loaded.config.knowledge.gateway_url is not None:
        yield Diagnosis("index", True, "A gateway answers for the index here.")
        return
    from contextive.store import store_condition

    folder = loaded.project / loaded.config.store.state_path
    condition = store_condition(folder)
    if condition.reason_code == "absent":
        missing = no_index_yet(loaded.config.knowledge.auto_ingest)
        yield Diagnosis(missing.name, missing.ok, missing.detail, missing.remedy)
        return
    if condition.message and condition.reason_code not in _REPORTED_ELSEWHERE:
        remedy = _START_OVER if condition.reason_code == "damaged" else condition.hint
        yield Diagnosis("index", condition.ok, condition.message, remedy)
    if not condition.is_searchable:
        return
    try:
        faults = list(_row_faults(folder))
    except ContextiveError as error:
        remedy = f"{error.hint} contextive-mcp restore brings a backup back." if error.hint else _START_OVER
        yield Diagnosis("index", False, error.message, remedy)
        return
    if any(fault.subject == "database" for fault in faults):
        yield Diagnosis("index", False, "The index is damaged.", _START_OVER)
        return
    if faults:
        yield Diagnosis("index", False, f"Its rows do not hold together: {_describe_faults(faults)}", _REBUILD)
    from contextive.server.host import Host

    host = Host(loaded, mode="in-process")
    try:
        yield from _diagnose_open_index(host)
    except ContextiveError as error:
        yield Diagnosis("index", False, error.message, error.hint or "Run contextive-mcp verify.")
    finally:
        host.close()


def _row_faults(folder: Path) -> Iterator[Discrepancy]:
    """Whatever is wrong with the database itself. What stands beside it can be made again, and is looked at later."""
    from contextive.store import open_store

    with closing(open_store(folder, read_only=True)) as store:
        for fault in store.verify():
            if fault.subject.endswith("sidecar"):
                return
            yield fault


def _diagnose_open_index(host: Host) -> Iterator[Diagnosis]:
    from contextive.search.index import Index

    index = host.services.get(Index)
    as_of = index.as_of()
    when = _utc_text(as_of.committed_at) if as_of.committed_at else "never"
    yield Diagnosis("index", True, f"Generation {as_of.generation}, written {when}.")
    for warning in index.store.health()["warnings"]:
        yield Diagnosis("index", False, str(warning), "Set store.statePath to a local directory.")
    faults = [fault for fault in index.store.verify() if fault.subject.endswith("sidecar")]
    if faults:
        yield Diagnosis(
            "index", False, _describe_faults(faults), "Search once and look again; else run contextive-mcp rebuild."
        )
    checks = {check.name: check for check in host.checks() if not check.ok}
    for name in _SHARED_CHECKS & checks.keys():
        yield Diagnosis(name, False, checks[name].detail, checks[name].remedy)
    keeper = index.store.lease_holder("keeper")
    yield _lease(index, keeper)
    yield _files(host, index, keeper)
    yield _vectors(index, checks.get("embeddings"))
    yield _backups(host, index)
    yield from _schedule(host, index)


def _lease(index: Index, keeper: str | None) -> Diagnosis:
    runs = index.store.lease_holder("ingest")
    if runs is not None:
        return Diagnosis("lease", True, f"The process {runs} is indexing just now; other runs wait for it.")
    if keeper is not None:
        return Diagnosis("lease", True, f"The process {keeper} keeps the index in step with the files.")
    return Diagnosis("lease", True, "No process holds the index.")


def _files(host: Host, index: Index, keeper: str | None) -> Diagnosis:
    """Whether index and disk agree, as a run would see it. Who keeps the index gets a moment for what was just saved."""
    changed, gone = _differences(index)
    deadline = time.monotonic() + _CATCH_UP_SECONDS
    while keeper is not None and changed + gone and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        changed, gone = _differences(index)
    if not changed + gone:
        return Diagnosis("files", True, "The index agrees with the files.")
    detail = f"{changed} files are new or changed since the index was written, {gone} are gone."
    if keeper is not None:
        return Diagnosis(
            "files",
            False,
            f"{detail} The process {keeper} should have noticed.",
            "End that process; another takes over.",
        )
    if host.config.knowledge.auto_ingest:
        return Diagnosis("files", True, f"{detail} The next server brings them in; so does contextive-mcp ingest.")
    return Diagnosis("files", False, f"The index is stale: {detail}", "Run contextive-mcp ingest.")


def _differences(index: Index) -> tuple[int, int]:
    from contextive.ingest.settings import IngestRequest

    outcome = index.ingest(IngestRequest(profile="doctor", dry_run=True))
    return len(outcome.changed), len(outcome.removed)


def _vectors(index: Index, failing: HealthCheck | None) -> Diagnosis:
    from contextive.search.embedding.factory import open_embedder

    wanted = index.settings.embedding
    if wanted.model == "none":
        return Diagnosis("vectors", True, "None are wanted: search is by words alone.")
    try:
        model = open_embedder(wanted.model, url=wanted.url, key=wanted.key).model
    except ContextiveError as error:
        return Diagnosis(
            "vectors",
            False,
            f"The model {wanted.model} cannot be used, so search is by words alone: {error.message}",
            error.hint or "Set knowledge.embeddingModel to another one.",
        )
    counts = index.store.search.vector_counts()
    others = sorted(other.name for other, count in counts.items() if other != model and count)
    if not counts.get(model) and others:
        return Diagnosis(
            "vectors",
            False,
            f"They are of another model ({', '.join(others)}) than the configured {model.name}; until new ones are made search "
            "is by words alone.",
            "Run contextive-mcp ingest, which makes them.",
        )
    if failing is not None:
        return Diagnosis("vectors", False, failing.detail, failing.remedy)
    return Diagnosis("vectors", True, f"All {index.store.health()['counts']['chunk']} chunks have one of {model.name}.")


def _backups(host: Host, index: Index) -> Diagnosis:
    from contextive.packs.knowledge.pack import DocumentsAndBackups

    remedy = "Run contextive-mcp backup, or set knowledge.schedule.backup.enabled."
    newest = next(iter(host.services.get(DocumentsAndBackups).backups().existing()), None)
    votes = index.store.records.votes(1)
    if newest is None:
        held = "votes and history are" if votes else "history is"
        return Diagnosis("backup", not votes, f"There is none; {held} in the state directory only.", remedy)
    made_at = datetime.fromisoformat(newest.manifest.created_at).timestamp()
    days = (time.time() - made_at) / _DAY_SECONDS
    is_old = days > _OLD_BACKUP_DAYS and bool(votes) and votes[-1].timestamp > made_at
    age = f"{days:.0f} days" if days >= 2 else f"{days * 24:.0f} hours"
    since = ", and people have voted since" if is_old else ""
    return Diagnosis("backup", not is_old, f"The newest is {age} old{since}.", remedy)


def _schedule(host: Host, index: Index) -> Iterator[Diagnosis]:
    from contextive.ingest.schedule import overdue, read_state
    from contextive.server.scheduler import plan_of

    for job in overdue(plan_of(host.config), index.store, time.time()):
        state = read_state(index.store, job)
        what = f"failed ({state.detail})" if state.result == "failure" else "is late"
        last = _utc_text(state.last_at) if state.last_at else "never"
        yield Diagnosis(
            "schedule",
            False,
            f"The scheduled {job} {what}; its last turn was {last}.",
            "See that a server runs, look at its log, and ask km-scheduler-status.",
        )


def _utc_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _describe_faults(faults: list[Discrepancy]) -> str:
    return " ".join(f"{fault.subject}: {fault.what}" for fault in faults[:3])
