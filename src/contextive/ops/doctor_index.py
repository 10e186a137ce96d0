"""Checks the index of a project.

Nothing is repaired here: an index that may be damaged is first opened read-only, because opening it for writing would
move it out of the way.
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
from contextive.ops.skipped_files import skipped_text
from contextive.packs.knowledge.health import no_index_yet

if TYPE_CHECKING:
    from contextive.packs.introspect import HealthCheck
    from contextive.search.index import Index
    from contextive.server.host import Host
    from contextive.store.postgres.settings import PostgresSettings
    from contextive.store.values import Discrepancy

_REBUILD = "Run contextive-mcp rebuild: it indexes the files again and keeps votes and history."
_RESTORE = "Or restore a backup with contextive-mcp restore."
_START_OVER = (
    "Run contextive-mcp rebuild: it renames the damaged file and builds a new index, with the votes, runs and audit log "
    f"that can still be read. {_RESTORE}"
)
_SHARED_CHECKS = frozenset({"repair", "watcher"})
"""Health checks of the server that are reported here unchanged."""
_REPORTED_ELSEWHERE = frozenset({"read_only", "full", "repaired"})
"""Conditions of the store that the findings `state` and `repair` report."""
_OLD_BACKUP_DAYS = 30
_CATCH_UP_SECONDS = 3.0
_POLL_SECONDS = 0.5
_DAY_SECONDS = 86_400.0


##= docs/spec/commands.md#doctor
##% The doctor MUST leave a damaged index unchanged.
def diagnose_index(loaded: LoadedConfig) -> Iterator[Diagnosis]:
    """All checks of the index, from its existence to the age of its newest backup."""
    if loaded.config.knowledge.gateway_url is not None:
        yield Diagnosis("index", True, "This project uses the index of a gateway.")
        return
    from contextive.server.build_index import shared_index
    from contextive.store import store_condition

    folder = loaded.project / loaded.config.store.state_path
    shared = shared_index(loaded)
    condition = store_condition(folder, shared)
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
        faults = list(_row_faults(folder, shared))
    except ContextiveError as error:
        remedy = f"{error.hint} {_RESTORE}" if error.hint else _START_OVER
        yield Diagnosis("index", False, error.message, remedy)
        return
    if any(fault.subject == "database" for fault in faults):
        yield Diagnosis("index", False, "The index is damaged.", _START_OVER)
        return
    if faults:
        yield Diagnosis("index", False, f"The index is inconsistent: {_describe_faults(faults)}", _REBUILD)
    from contextive.server.host import Host

    host = Host(loaded, mode="in-process")
    try:
        yield from _diagnose_open_index(host)
    except ContextiveError as error:
        yield Diagnosis("index", False, error.message, error.hint or "Run contextive-mcp verify.")
    finally:
        host.close()


def _row_faults(folder: Path, shared: PostgresSettings | None) -> Iterator[Discrepancy]:
    """Faults in the database itself. Its sidecar files can be rebuilt and are checked later."""
    from contextive.store import open_store

    with closing(open_store(folder, read_only=True, postgres=shared)) as store:
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
    if (embedded := _embedded_index(index)) is not None:
        yield embedded
    for warning in index.store.health()["warnings"]:
        yield Diagnosis("index", False, str(warning), "Set store.statePath to a local directory.")
    faults = [fault for fault in index.store.verify() if fault.subject.endswith("sidecar")]
    if faults:
        yield Diagnosis(
            "index",
            False,
            _describe_faults(faults),
            "Run a search, then the doctor again. If the problem is still there, run contextive-mcp rebuild.",
        )
    checks = {check.name: check for check in host.checks() if not check.ok}
    for name in _SHARED_CHECKS & checks.keys():
        yield Diagnosis(name, False, checks[name].detail, checks[name].remedy)
    keeper = index.store.lease_holder("keeper")
    yield _lease(index, keeper)
    yield _files(host, index, keeper)
    if left_out := skipped_text(index.skipped()):
        yield Diagnosis("left out", True, f"Files and directories that are not indexed: {left_out}.")
    yield _vectors(index, checks.get("embeddings"))
    if index.settings.postgres is None:
        yield _backups(host, index)
    yield from _schedule(host, index)


def _embedded_index(index: Index) -> Diagnosis | None:
    """A note about the index of the state directory that a shared one replaces."""
    if index.settings.postgres is None or not (index.settings.state_dir / "index.db").exists():
        return None
    detail = "This project uses a shared index. The index in the state directory is kept, unchanged and unused."
    return Diagnosis("embedded index", True, detail, "To use it again, remove store.dsn.")


def _lease(index: Index, keeper: str | None) -> Diagnosis:
    ingester = index.store.lease_holder("ingest")
    if ingester is not None:
        return Diagnosis("lease", True, f"The process {ingester} is indexing now; other runs wait for it.")
    if keeper is not None:
        return Diagnosis("lease", True, f"The process {keeper} keeps the index up to date.")
    return Diagnosis("lease", True, "No process is updating the index.")


def _files(host: Host, index: Index, keeper: str | None) -> Diagnosis:
    """Whether the index matches the files. A process that keeps it up to date gets a moment for recent changes."""
    changed, gone = _differences(index)
    deadline = time.monotonic() + _CATCH_UP_SECONDS
    while keeper is not None and changed + gone and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        changed, gone = _differences(index)
    if not changed + gone:
        return Diagnosis("files", True, "The index is up to date with the files.")
    detail = f"File changes since the index was written: {changed} new or changed, {gone} removed."
    if keeper is not None:
        return Diagnosis(
            "files",
            False,
            f"{detail} The process {keeper} should have updated the index.",
            "Stop that process; another one takes over.",
        )
    if host.config.knowledge.auto_ingest:
        return Diagnosis(
            "files", True, f"{detail} A server updates the index at startup; so does contextive-mcp ingest."
        )
    return Diagnosis("files", False, f"The index is stale. {detail}", "Run contextive-mcp ingest.")


def _differences(index: Index) -> tuple[int, int]:
    from contextive.ingest.settings import IngestRequest

    outcome = index.ingest(IngestRequest(profile="doctor", dry_run=True))
    return len(outcome.changed), len(outcome.removed)


def _vectors(index: Index, failing: HealthCheck | None) -> Diagnosis:
    from contextive.search.embedding.factory import PACKAGES, open_embedder
    from contextive.search.embedding.protocol import require_packages

    settings = index.settings.embedding
    if settings.model == "none":
        return Diagnosis("vectors", True, "Embeddings are switched off: search is lexical only.")
    try:
        require_packages(*PACKAGES)
    except ContextiveError as error:
        return Diagnosis("vectors", True, error.message)
    try:
        model = open_embedder(settings.model, url=settings.url, key=settings.key).model
    except ContextiveError as error:
        return Diagnosis(
            "vectors",
            False,
            f"The model {settings.model} cannot be used, so search is lexical only: {error.message}",
            error.hint or "Set knowledge.embeddingModel to another model.",
        )
    counts = index.store.search.vector_counts()
    others = sorted(other.name for other, count in counts.items() if other != model and count)
    if not counts.get(model) and others:
        return Diagnosis(
            "vectors",
            False,
            f"The embeddings are from a different model ({', '.join(others)}) than the configured {model.name}. Until new ones "
            "are computed, search is lexical only.",
            "Run contextive-mcp ingest --wait to compute them.",
        )
    if failing is not None:
        return Diagnosis("vectors", False, failing.detail, failing.remedy)
    chunks = index.store.health()["counts"]["chunk"]
    return Diagnosis("vectors", True, f"All {chunks} chunks have an embedding of {model.name}.")


def _backups(host: Host, index: Index) -> Diagnosis:
    from contextive.packs.knowledge.pack import DocumentsAndBackups

    remedy = "Run contextive-mcp backup, or set knowledge.schedule.backup.enabled."
    newest = next(iter(host.services.get(DocumentsAndBackups).backups().existing()), None)
    votes = index.store.records.votes(1)
    if newest is None:
        data = "votes and the history" if votes else "the history"
        detail = f"There is no backup of {data} yet; contextive-mcp backup makes one."
        return Diagnosis("backup", not votes, detail, remedy)
    made_at = datetime.fromisoformat(newest.manifest.created_at).timestamp()
    days = (time.time() - made_at) / _DAY_SECONDS
    is_old = days > _OLD_BACKUP_DAYS and bool(votes) and votes[-1].timestamp > made_at
    age = f"{days:.0f} days" if days >= 2 else f"{days * 24:.0f} hours"
    since = ", and there are newer votes" if is_old else ""
    return Diagnosis("backup", not is_old, f"The newest backup is {age} old{since}.", remedy)


def _schedule(host: Host, index: Index) -> Iterator[Diagnosis]:
    from contextive.ingest.schedule import overdue, read_state
    from contextive.server.scheduler import plan_of

    for job in overdue(plan_of(host.config), index.store, time.time()):
        state = read_state(index.store, job)
        outcome = f"failed ({state.detail})" if state.result == "failure" else "is overdue"
        last = _utc_text(state.last_at) if state.last_at else "never"
        yield Diagnosis(
            "schedule",
            False,
            f"The scheduled {job} {outcome}; last run: {last}.",
            "Make sure that a server is running, read its log, and call km-scheduler-status.",
        )


def _utc_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _describe_faults(faults: list[Discrepancy]) -> str:
    return " ".join(f"{fault.subject}: {fault.what}" for fault in faults[:3])
