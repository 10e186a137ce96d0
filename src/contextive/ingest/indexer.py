"""An ingest run: reads the files of a project into the rows of the store. Unchanged files are not parsed again.

A run may be killed at any point. The rows of a file are written in one transaction, and committed files are not
processed again. Links between files are resolved last: until then a state key in the store marks them as pending, and
it is removed in the transaction that completes them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextive.errors import TimedOut
from contextive.ingest.gc_tuning import less_frequent_gc
from contextive.ingest.linker import Linker
from contextive.ingest.parser_pool import ParseOutcome, ParserPool, ParseSettings, parse_in_process
from contextive.ingest.plan import (
    IndexReplaced,
    Plan,
    RunInProgress,
    format_left_out,
    ledger_entry,
    make_plan,
    parse_left_out,
)
from contextive.ingest.settings import RUN_WAIT_SECONDS, IngestProgress, IngestRequest, IngestSettings
from contextive.ingest.tally import FileResult, Tally, count_changes
from contextive.knowledge.artifact import LastCommit, ParsedArtifact
from contextive.knowledge.artifact_layers import artifact_layer, project_layer
from contextive.knowledge.artifact_parser import ParseContext
from contextive.knowledge.chunk import Chunk
from contextive.knowledge.node_ids import artifact_node_id
from contextive.knowledge.packages import MANIFEST_NAMES, MAX_MANIFESTS, find_packages
from contextive.knowledge.subsystems import CATALOG_PATHS, NO_CATALOG, parse_catalog
from contextive.knowledge.symbol import Symbol
from contextive.knowledge.windows import Window
from contextive.store.protocol import Lease, Store
from contextive.store.values import (
    STATE_PARSE_CONTEXT,
    STATE_PENDING_FILES,
    STATE_REPO_HEAD,
    STATE_SKIPPED_FILES,
    LedgerEntry,
    Run,
)
from contextive.workspace.contents import Skipped, decode_text, read_bytes
from contextive.workspace.directory_handles import remove_leftovers_below
from contextive.workspace.discovery import DiscoveredFiles, FoundFile, discover
from contextive.workspace.git import FileCommit, git_head, git_history

if TYPE_CHECKING:
    from contextive.ingest.layer_sources import LayerSource

logger = logging.getLogger(__name__)

LEASE = "ingest"
_QUEUE_LEASE = "ingest-next"
_BATCH_FILES = 64
_BATCH_SECONDS = 0.25
_GIT_BATCH_FILES = 512
_LEASE_POLL_SECONDS = 0.05

GitOf = Callable[[str], LastCommit | None]


@dataclass(frozen=True, slots=True)
class IngestResult:
    """The result of a run."""

    run: Run
    changed: tuple[str, ...]
    unchanged_count: int
    removed: tuple[Mapping[str, Any], ...]
    dry_run: bool = False

    @property
    def did_something(self) -> bool:
        return bool(self.changed or self.removed)


class Indexer:
    """Runs ingest for one project into one store. Of all processes, only one runs at a time."""

    def __init__(
        self,
        root: Path,
        store: Store,
        settings: IngestSettings,
        *,
        layers: Iterable[LayerSource] = (),
        holder: str = "ingest",
        state_dir: Path | None = None,
        pool: ParserPool | None = None,
    ) -> None:
        """`pool` parses files in other processes; without one, they are parsed in this process."""
        self._root = root.resolve()
        self._store = store
        self._settings = settings
        self._layers = tuple(layers)
        self._holder = holder
        self._state_dir = state_dir
        self._pool = pool

    ##= docs/spec/knowledge.md#index-updates
    ##% After any edits, a run MUST leave the same rows as a rebuild.
    ##= docs/spec/gateway.md#km-ingest-trigger
    ##% Runs MUST change the index one at a time, across all processes.
    def run(
        self,
        request: IngestRequest,
        *,
        progress: IngestProgress = lambda _phase, _done, _total: None,
        stop: threading.Event | None = None,
        wait_seconds: float = RUN_WAIT_SECONDS,
    ) -> IngestResult:
        """Update the store from the files. Waits up to `wait_seconds` for a run of another process."""
        stop = stop or threading.Event()
        if request.dry_run:
            with less_frequent_gc():
                return self._run(request, progress, stop)
        deadline = time.monotonic() + wait_seconds
        # The queue lease keeps a process that runs again and again from overtaking one that waits.
        queue_lease = self._wait_for(_QUEUE_LEASE, progress, stop, deadline)
        try:
            lease = self._wait_for(LEASE, progress, stop, deadline)
        finally:
            queue_lease.release()
        try:
            with less_frequent_gc():
                return self._run(request, progress, stop, lease)
        finally:
            lease.release()

    def _wait_for(self, name: str, progress: IngestProgress, stop: threading.Event, deadline: float) -> Lease:
        while (lease := self._store.acquire_lease(name, self._holder)) is None:
            progress("wait", 0, 0)
            if stop.wait(_LEASE_POLL_SECONDS) or time.monotonic() > deadline:
                raise RunInProgress(
                    "Another ingest run is in progress.", hint="Check km-ingest-status, and try again later."
                )
        return lease

    def discover(self) -> DiscoveredFiles:
        """The files to index, and how many were left out for each reason."""
        return discover(
            self._root,
            include=self._settings.include,
            exclude=self._settings.exclude,
            max_bytes=self._settings.max_file_bytes,
            state_directory=self._state_dir,
        )

    def parse_context(self, discovery: DiscoveredFiles) -> ParseContext:
        """Facts about the whole project that the parser needs for each file."""
        paths = [file.path for file in discovery.files]
        catalog = NO_CATALOG
        for path in CATALOG_PATHS:
            if (text := self._text_of(path)) is not None:
                catalog = parse_catalog(text, path)
                break
        manifests = sorted(
            (path for path in paths if path.rpartition("/")[2] in MANIFEST_NAMES), key=lambda p: (p.count("/"), p)
        )
        texts = {path: self._text_of(path) or "" for path in manifests[:MAX_MANIFESTS]}
        packages = find_packages(paths, texts)
        settings = self._settings
        window = Window(settings.window_characters, min(settings.window_overlap, settings.window_characters // 2))
        return ParseContext(catalog, packages, settings.symbols, window, frozenset(discovery.kept))

    def extra_chunks(self) -> Mapping[str, tuple[Chunk, ...]]:
        """Chunks that the layers add to files, by path."""
        merged: dict[str, tuple[Chunk, ...]] = {}
        for source in self._layers:
            for path, chunks in source.chunks().items():
                merged[path] = (*merged.get(path, ()), *chunks)
        return merged

    def parser_version(self, context: ParseContext, extra: Mapping[str, str]) -> Callable[[str], str]:
        """A function from a path to the version of its parser. `extra` are the digests of added chunks."""

        def version(path: str) -> str:
            base = context.version_for(path)
            return f"{base}:{extra[path]}" if path in extra else base

        return version

    def parse_files(
        self, context: ParseContext, paths: Sequence[str], stop: threading.Event
    ) -> Iterator[tuple[str, ParseOutcome]]:
        """The outcome of each file, in the order in which they are parsed."""
        settings = ParseSettings(self._root, self._settings.max_file_bytes, context)
        return self._pool.parse(settings, paths, stop) if self._pool else parse_in_process(settings, paths)

    ##= docs/spec/gateway.md#km-ingest-trigger
    ##% With `dry_run`, the tool MUST write nothing.
    def _run(
        self, request: IngestRequest, progress: IngestProgress, stop: threading.Event, lease: Lease | None = None
    ) -> IngestResult:
        started, clock = time.time(), time.monotonic()
        index = self._store.identity()
        progress("discover", 0, 0)
        discovery = self.discover()
        head = git_head(self._root)
        context = self.parse_context(discovery)
        ledger = {} if request.full else self._store.files.ledger()
        versions = {source.name: source.external_version() for source in self._layers}
        extra: Mapping[str, tuple[Chunk, ...]] = {}
        parser_version = self.parser_version(context, json.loads(self._store.state("extra") or "{}"))
        is_old = self._store.state(STATE_PARSE_CONTEXT) != context.version()
        left_out = {} if request.full or is_old else parse_left_out(self._store.state("left_out"))
        plan = make_plan(discovery.files, ledger, left_out, parser_version if is_old else None)
        layers_changed = any(self._store.state(f"layer:{name}") != value for name, value in versions.items())
        if layers_changed or not plan.is_empty:
            extra = self.extra_chunks()
            parser_version = self.parser_version(context, extra_digests(extra))
            plan = make_plan(discovery.files, ledger, left_out, parser_version)
        if request.full:
            paths = {file.path for file in discovery.files}
            plan = replace(plan, gone=tuple(sorted(self._store.files.ledger().keys() - paths)))
        git_of = self._git(head, plan)
        tally = Tally(skipped=Counter(discovery.skipped), left_out=dict(plan.left_out))
        tally.skipped.update(out.reason for out in plan.left_out.values())
        removed = tuple(self._removed(plan.gone, dry_run=request.dry_run))
        if not request.dry_run:
            remove_leftovers_below(self._root, discovery.folders_with_temporary_files)
            self._remove_artifacts(plan.gone, tally)
            if len(plan.candidates) > _BATCH_FILES:
                with self._store.transaction() as writer:
                    writer.put_state(STATE_PENDING_FILES, str(len(plan.candidates)))
        done = 0
        with closing(self._batches(plan.candidates, context, git_of, extra, stop)) as batches:
            for batch in batches:
                self._check_same_index(index, lease)
                done += len(batch)
                if request.dry_run:
                    count_changes(batch, ledger, parser_version, tally)
                else:
                    remaining = len(plan.candidates) - done
                    self._write(batch, parser_version, ledger, tally, full=request.full, remaining=remaining)
                progress("parse", done, len(plan.candidates))
        if stop.is_set():
            raise TimedOut("The ingest run was stopped.", hint="Run it again: finished files are not parsed again.")
        self._check_same_index(index, lease)
        if not request.dry_run:
            if tally.changed or removed:
                self._store.search.catch_up()  # before the end of the run, which makes searches rely on the index
            self._update_git_facts(head, plan.unchanged, git_of, ledger)
            states = _layer_states(versions, extra) if layers_changed or not plan.is_empty else {}
            self._link_and_derive(context, tally, {STATE_REPO_HEAD: head, **states}, progress)
        totals = self._store.files.totals()
        run = Run(
            run_id=uuid.uuid4().hex,
            profile=request.profile,
            started_at=started,
            duration_seconds=round(time.monotonic() - clock, 6),
            success=True,
            artifact_counts={kind: of_type.files for kind, of_type in sorted(totals.items())},
            artifact_count=sum(of_type.files for of_type in totals.values()),
            chunk_count=sum(of_type.chunks for of_type in totals.values()),
            changed_counts=dict(sorted(tally.counts.items())),
            changed_chunk_count=tally.chunk_count,
            repo_head=head,
            removed=removed,
            skipped=dict(sorted(tally.skipped.items())),
            created_at=time.time(),
        )
        return IngestResult(run, tuple(tally.changed), len(plan.unchanged), removed, request.dry_run)

    ##= docs/spec/knowledge.md#index-updates
    ##% A run whose index is removed or replaced MUST end and report the reason.
    def _check_same_index(self, index: object, lease: Lease | None) -> None:
        """End a run whose index was replaced: files that its plan calls unchanged are not in the new index."""
        if self._store.identity() != index or (lease is not None and not lease.is_held):
            raise IndexReplaced("The index was removed or rebuilt during the run.", hint="Run it again.")

    def _batches(
        self,
        candidates: Sequence[FoundFile],
        context: ParseContext,
        git_of: GitOf,
        extra: Mapping[str, tuple[Chunk, ...]],
        stop: threading.Event,
    ) -> Generator[list[FileResult], None, None]:
        """Parsed files in batches, one batch per transaction."""
        fingerprints = {file.path: file.fingerprint for file in candidates}
        started_at = time.time_ns()
        outcomes = self.parse_files(context, list(fingerprints), stop)
        batch: list[FileResult] = []
        since = time.monotonic()
        for path, outcome in outcomes:
            if not isinstance(outcome, Skipped):
                outcome = (with_git_and_extra_chunks(outcome[0], git_of(path), extra.get(path, ())), outcome[1])
            batch.append(FileResult(path, outcome, fingerprints[path], started_at))
            if len(batch) >= _BATCH_FILES or time.monotonic() - since > _BATCH_SECONDS:
                yield batch
                batch, since = [], time.monotonic()
            if stop.is_set():
                break
        if batch:
            yield batch

    def _write(
        self,
        batch: list[FileResult],
        parser_version: Callable[[str], str],
        ledger: Mapping[str, LedgerEntry],
        tally: Tally,
        *,
        full: bool,
        remaining: int,
    ) -> None:
        """Write a batch, and how many files remain after it."""
        with self._store.transaction() as writer:
            if remaining:
                writer.put_state(STATE_PENDING_FILES, str(remaining))
            for result in batch:
                path, known = result.path, ledger.get(result.path)
                if isinstance(result.outcome, Skipped):
                    tally.leave_out(result)
                    if known is not None:
                        tally.touched.remove(self._store, path)
                        writer.remove_artifact(path)
                        tally.changed.append(path)
                    continue
                parsed, fingerprint = result.outcome
                entry = ledger_entry(path, parsed.artifact.digest, fingerprint, parser_version(path), result.read_at_ns)
                if not full and known is not None and (known.digest, known.parser) == (entry.digest, entry.parser):
                    writer.touch_artifact(entry, parsed.artifact.git)
                    continue
                tally.touched.change(self._store, parsed, is_new=known is None)
                writer.put_artifact(parsed, entry, artifact_layer(parsed))
                tally.count(parsed)
            if tally.touched:
                writer.put_state("links", "pending")

    def _remove_artifacts(self, gone: tuple[str, ...], tally: Tally) -> None:
        for start in range(0, len(gone), _BATCH_FILES):
            with self._store.transaction() as writer:
                for path in gone[start : start + _BATCH_FILES]:
                    tally.touched.remove(self._store, path)
                    writer.remove_artifact(path)
                writer.put_state("links", "pending")

    def _removed(self, gone: Iterable[str], *, dry_run: bool) -> Iterator[Mapping[str, Any]]:
        for path in gone:
            if (row := self._store.files.artifact(path)) is not None:
                yield {
                    "path": path,
                    "artifact_type": row.artifact.artifact_type,
                    "subsystem": row.artifact.subsystem,
                    "digest": row.artifact.digest,
                    "status": "dry-run" if dry_run else "deleted",
                }

    def _git(self, head: str | None, plan: Plan) -> GitOf:
        """Returns the last commit of a file. The whole history is read once; later runs read only new commits."""
        last_head = self._store.state(STATE_REPO_HEAD)
        paths = None if head != last_head else [file.path for file in plan.candidates]
        if head is None or paths == []:
            return lambda _path: None
        history = git_history(self._root, paths, since=last_head if paths is None else None)
        if history is None:
            return lambda _path: None
        known = {row.artifact.path: row.artifact.git for row in self._store.files.artifacts()} if paths is None else {}

        def last_commit(path: str) -> LastCommit | None:
            earlier = known.get(path)
            commit = history.last_commit(path, FileCommit(earlier.commit, earlier.timestamp) if earlier else None)
            return LastCommit(commit.commit, commit.timestamp) if commit else None

        return last_commit

    def _update_git_facts(
        self, head: str | None, unchanged: tuple[str, ...], git_of: GitOf, ledger: Mapping[str, LedgerEntry]
    ) -> None:
        """Store the new last commit of files that were committed without a change."""
        if head == self._store.state(STATE_REPO_HEAD):
            return
        known = {row.artifact.path: row.artifact.git for row in self._store.files.artifacts()}
        stale = [(path, git) for path in unchanged if (git := git_of(path)) != known.get(path)]
        for start in range(0, len(stale), _GIT_BATCH_FILES):
            with self._store.transaction() as writer:
                for path, git in stale[start : start + _GIT_BATCH_FILES]:
                    writer.touch_artifact(ledger[path], git)

    ##= docs/spec/knowledge.md#index-updates
    ##% The next run MUST resume an interrupted one.
    def _link_and_derive(
        self, context: ParseContext, tally: Tally, states: Mapping[str, str | None], progress: IngestProgress
    ) -> None:
        """Write everything that depends on more than one file, and the state keys that record its inputs."""
        pending = self._store.state("links") == "pending"
        states = {
            STATE_PARSE_CONTEXT: context.version(),
            "skipped": json.dumps(dict(sorted(tally.skipped.items()))),
            "left_out": format_left_out(tally.left_out),
            STATE_SKIPPED_FILES: str(tally.skipped.total()),
            STATE_PENDING_FILES: None,
            **states,
        }
        changed = {key: value for key, value in states.items() if self._store.state(key) != value}
        if not (pending or changed):
            return
        progress("link", 0, 0)
        if pending:
            # Without recorded changes, this resumes a run that was killed: link all files.
            Linker(self._store).link(tally.touched or None, progress)
        rows = [row.artifact for row in self._store.files.artifacts()]
        ids = {row.path: artifact_node_id(row.path, row.artifact_type) for row in rows}
        sources = [source for source in self._layers if pending or f"layer:{source.name}" in changed]
        layers = {f"@{source.name}": source.layer(ids, self._symbols()) for source in sources}
        if pending or STATE_PARSE_CONTEXT in changed:
            layers["@project"] = project_layer(rows, context.catalog)
        with self._store.transaction() as writer:
            for name, layer in layers.items():
                writer.put_layer(name, layer)
            writer.put_state("links", None)
            for key, value in changed.items():
                writer.put_state(key, value)

    def _symbols(self) -> Mapping[str, Sequence[Symbol]]:
        found: dict[str, list[Symbol]] = {}
        for path, symbol in self._store.files.symbols():
            found.setdefault(path, []).append(symbol)
        return found

    def _text_of(self, path: str) -> str | None:
        content = read_bytes(self._root, path, self._settings.max_file_bytes)
        text = decode_text(content.data) if not isinstance(content, Skipped) else content
        return None if isinstance(text, Skipped) else text


def with_git_and_extra_chunks(
    parsed: ParsedArtifact, git: LastCommit | None, extra: tuple[Chunk, ...]
) -> ParsedArtifact:
    """A file with its last commit and the chunks that layers add to it."""
    first = len(parsed.chunks)
    numbered = tuple(replace(chunk, sequence=first + number) for number, chunk in enumerate(extra))
    return replace(parsed, artifact=replace(parsed.artifact, git=git), chunks=(*parsed.chunks, *numbered))


def extra_digests(extra: Mapping[str, tuple[Chunk, ...]]) -> dict[str, str]:
    """A digest of the added chunks of each file, by path."""
    return {
        path: hashlib.sha256("\0".join(chunk.digest for chunk in chunks).encode()).hexdigest()[:12]
        for path, chunks in sorted(extra.items())
    }


def _layer_states(versions: Mapping[str, str], extra: Mapping[str, tuple[Chunk, ...]]) -> dict[str, str | None]:
    """The state keys of the layers that this run used."""
    return {"extra": json.dumps(extra_digests(extra)), **{f"layer:{name}": value for name, value in versions.items()}}
