"""An ingest run: from the files as they are to the rows of the store, touching only what changed.

A run may be killed at any point. Every file is one unit of a transaction, and what was committed is never done again.
Links between files come last, and a mark in the store says that they are still to be made; the mark goes with them in one
transaction.
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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from contextive.errors import TimedOut
from contextive.ingest.collecting import collected_less_often
from contextive.ingest.linking import Linker, Touched
from contextive.ingest.parsing import Parsed, ParserPool, Reading, parse_here
from contextive.ingest.plan import AnotherRun, IndexReplaced, LeftOut, Plan, ledger_entry, make_plan
from contextive.ingest.settings import TURN_SECONDS, IngestRequest, IngestSettings
from contextive.knowledge.artifact import GitFacts, ParsedArtifact
from contextive.knowledge.assembly import Surroundings
from contextive.knowledge.chunk import Chunk
from contextive.knowledge.graph import Layer
from contextive.knowledge.identifiers import artifact_node_id
from contextive.knowledge.layers import artifact_layer, project_layer
from contextive.knowledge.subsystems import CATALOG_PATHS, NO_CATALOG, parse_catalog, source_prefixes
from contextive.knowledge.symbol import Symbol
from contextive.knowledge.windows import Window
from contextive.store.protocol import Lease, Store
from contextive.store.values import STATE_REPO_HEAD, STATE_SKIPPED_FILES, LedgerEntry, Run
from contextive.workspace.contents import Skipped, read_bytes, text_of
from contextive.workspace.discovery import Discovery, FoundFile, discover
from contextive.workspace.files import Fingerprint
from contextive.workspace.git import FileCommit, git_facts, git_head
from contextive.workspace.handles import remove_leftovers_below

logger = logging.getLogger(__name__)

LEASE = "ingest"
_NEXT = "ingest-next"
_BATCH_FILES = 64
_BATCH_SECONDS = 0.25
_RETIMED_FILES = 512
_MOST_LEFT_OUT = 20_000
_LEASE_LOOK_SECONDS = 0.05

GitOf = Callable[[str], GitFacts | None]
Progress = Callable[[str, int, int], None]
"""Called with the phase, how much is done, and how much there is."""


class LayerSource(Protocol):
    """Something that knows more of the project than single files tell: requirements and citations, or notes."""

    @property
    def name(self) -> str: ...

    def outside(self) -> str:
        """Changes with whatever the layer depends on besides indexed files. Costs little."""
        ...

    def chunks(self) -> Mapping[str, tuple[Chunk, ...]]:
        """Further chunks of files, by path."""
        ...

    def layer(self, ids: Mapping[str, str], symbols: Mapping[str, Sequence[Symbol]]) -> Layer:
        """Nodes and edges, given the node id of every artifact and the symbols of every file, by path."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to."""

    run: Run
    changed: tuple[str, ...]
    unchanged_count: int
    removed: tuple[Mapping[str, Any], ...]
    dry_run: bool = False

    @property
    def did_something(self) -> bool:
        return bool(self.changed or self.removed)


@dataclass(slots=True)
class _Tally:
    """What a run counts while it goes on."""

    counts: Counter[str] = field(default_factory=Counter)
    chunk_count: int = 0
    changed: list[str] = field(default_factory=list)
    touched: Touched = field(default_factory=Touched)
    skipped: Counter[str] = field(default_factory=Counter)
    left_out: dict[str, LeftOut] = field(default_factory=dict)

    def leave_out(self, looked: _Looked) -> None:
        assert isinstance(looked.outcome, Skipped)
        self.skipped[looked.outcome.reason] += 1
        seen = looked.fingerprint
        if len(self.left_out) < _MOST_LEFT_OUT and seen.is_settled(looked.read_at_ns):
            self.left_out[looked.path] = LeftOut(seen, looked.outcome.reason)

    def count(self, parsed: ParsedArtifact) -> None:
        self.counts[parsed.artifact.artifact_type] += 1
        self.chunk_count += len(parsed.chunks)
        self.changed.append(parsed.artifact.path)


class Indexer:
    """Runs ingest for one project into one store. One run at a time in all processes."""

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
        """`pool` parses in other processes; without one this process does."""
        self._root = root.resolve()
        self._store = store
        self._settings = settings
        self._layers = tuple(layers)
        self._holder = holder
        self._state_dir = state_dir
        self._pool = pool

    ##= docs/spec/knowledge.md#keeping-in-step
    ##% After any edits a run MUST leave the rows that a rebuild would make.
    ##= docs/spec/gateway.md#km-ingest-trigger
    ##% One run at a time MUST change the index, whichever process makes it.
    def run(
        self,
        request: IngestRequest,
        *,
        progress: Progress = lambda _phase, _done, _total: None,
        stop: threading.Event | None = None,
        wait_seconds: float = TURN_SECONDS,
    ) -> Outcome:
        """Bring the store in step with the files. Waits for a run of another process up to `wait_seconds`."""
        stop = stop or threading.Event()
        if request.dry_run:
            with collected_less_often():
                return self._run(request, progress, stop)
        deadline = time.monotonic() + wait_seconds
        # Who waits holds the place of the next. Who makes one run after the other has to wait for that place, too.
        place = self._wait_for(_NEXT, progress, stop, deadline)
        try:
            lease = self._wait_for(LEASE, progress, stop, deadline)
        finally:
            place.release()
        try:
            with collected_less_often():
                return self._run(request, progress, stop, lease)
        finally:
            lease.release()

    def _wait_for(self, name: str, progress: Progress, stop: threading.Event, deadline: float) -> Lease:
        while (lease := self._store.acquire_lease(name, self._holder)) is None:
            progress("wait", 0, 0)
            if stop.wait(_LEASE_LOOK_SECONDS) or time.monotonic() > deadline:
                raise AnotherRun("Another ingest run is going on.", hint="Ask km-ingest-status, and try again later.")
        return lease

    def discover(self) -> Discovery:
        """The files that are there to be indexed, and how many were left out for what reason."""
        return discover(
            self._root,
            include=self._settings.include,
            exclude=self._settings.exclude,
            max_bytes=self._settings.max_file_bytes,
            state_directory=self._state_dir,
        )

    def surroundings(self, found: Iterable[FoundFile]) -> Surroundings:
        """What classification needs to know of the project as a whole."""
        paths = [file.path for file in found]
        catalog = NO_CATALOG
        for path in CATALOG_PATHS:
            if (text := self._text_of(path)) is not None:
                catalog = parse_catalog(text, path)
                break
        prefixes = source_prefixes(paths, self._text_of("pyproject.toml"))
        settings = self._settings
        window = Window(settings.window_characters, min(settings.window_overlap, settings.window_characters // 2))
        return Surroundings(catalog, prefixes, settings.symbols, window)

    def extra_chunks(self) -> Mapping[str, tuple[Chunk, ...]]:
        """What layers know of files: chunks to be indexed with them, by path."""
        merged: dict[str, tuple[Chunk, ...]] = {}
        for source in self._layers:
            for path, chunks in source.chunks().items():
                merged[path] = (*merged.get(path, ()), *chunks)
        return merged

    def parser_of(self, surroundings: Surroundings, extra: Mapping[str, str]) -> Callable[[str], str]:
        """The version of everything that turns a file's bytes into rows, by path. `extra` stands for further chunks."""

        def version(path: str) -> str:
            base = surroundings.version_for(path)
            return f"{base}:{extra[path]}" if path in extra else base

        return version

    def parsed(self, around: Surroundings, paths: Sequence[str], stop: threading.Event) -> Iterator[tuple[str, Parsed]]:
        """What each file comes to by itself, in the order in which they are done."""
        reading = Reading(self._root, self._settings.max_file_bytes, around)
        return self._pool.parse(reading, paths, stop) if self._pool else parse_here(reading, paths)

    ##= docs/spec/gateway.md#km-ingest-trigger
    ##% With `dry_run` nothing MUST be written.
    def _run(
        self, request: IngestRequest, progress: Progress, stop: threading.Event, lease: Lease | None = None
    ) -> Outcome:
        started, clock = time.time(), time.monotonic()
        index = self._store.identity()
        progress("discover", 0, 0)
        discovery = self.discover()
        head = git_head(self._root)
        surroundings = self.surroundings(discovery.files)
        ledger = {} if request.full else self._store.files.ledger()
        outside = {source.name: source.outside() for source in self._layers}
        extra: Mapping[str, tuple[Chunk, ...]] = {}
        parser_of = self.parser_of(surroundings, json.loads(self._store.state("extra") or "{}"))
        is_old = self._store.state("surroundings") != surroundings.version()
        left_out = {} if request.full or is_old else parse_left_out(self._store.state("left_out"))
        plan = make_plan(discovery.files, ledger, left_out, parser_of if is_old else None)
        layers_moved = any(self._store.state(f"layer:{name}") != value for name, value in outside.items())
        if layers_moved or not plan.is_empty:
            extra = self.extra_chunks()
            parser_of = self.parser_of(surroundings, extra_digests(extra))
            plan = make_plan(discovery.files, ledger, left_out, parser_of)
        if request.full:
            paths = {file.path for file in discovery.files}
            plan = replace(plan, gone=tuple(sorted(self._store.files.ledger().keys() - paths)))
        git_of = self._git(head, plan)
        tally = _Tally(skipped=Counter(discovery.skipped), left_out=dict(plan.left_out))
        tally.skipped.update(out.reason for out in plan.left_out.values())
        removed = tuple(self._removed(plan.gone, dry_run=request.dry_run))
        if not request.dry_run:
            remove_leftovers_below(self._root, discovery.unfinished)
            self._forget(plan.gone, tally)
        done = 0
        with closing(self._batches(plan.suspects, surroundings, git_of, extra, stop)) as batches:
            for batch in batches:
                self._check_same_index(index, lease)
                if request.dry_run:
                    _count_dry(batch, ledger, parser_of, tally)
                else:
                    self._write(batch, parser_of, ledger, tally, full=request.full)
                done += len(batch)
                progress("parse", done, len(plan.suspects))
        if stop.is_set():
            raise TimedOut("The ingest run was stopped.", hint="What is done stays done; run it again to go on.")
        self._check_same_index(index, lease)
        if not request.dry_run:
            self._retime(head, plan.unchanged, git_of, ledger)
            looked = _marks(outside, extra) if layers_moved or not plan.is_empty else {}
            self._derive(surroundings, tally, {STATE_REPO_HEAD: head, **looked}, progress)
        run = Run(
            run_id=uuid.uuid4().hex,
            profile=request.profile,
            started_at=started,
            duration_seconds=round(time.monotonic() - clock, 6),
            success=True,
            artifact_counts=dict(sorted(tally.counts.items())),
            artifact_count=sum(tally.counts.values()),
            chunk_count=tally.chunk_count,
            repo_head=head,
            removed=removed,
            skipped=dict(sorted(tally.skipped.items())),
            created_at=time.time(),
        )
        return Outcome(run, tuple(tally.changed), len(plan.unchanged), removed, request.dry_run)

    ##= docs/spec/knowledge.md#keeping-in-step
    ##% A run whose index is removed or replaced MUST end with a reason.
    def _check_same_index(self, index: object, lease: Lease | None) -> None:
        """End a run whose plan was made for another index: what it calls unchanged is not in this one."""
        if self._store.identity() != index or (lease is not None and not lease.is_held):
            raise IndexReplaced("The index was removed or rebuilt during the run.", hint="Run it again.")

    def _batches(
        self,
        suspects: Sequence[FoundFile],
        surroundings: Surroundings,
        git_of: GitOf,
        extra: Mapping[str, tuple[Chunk, ...]],
        stop: threading.Event,
    ) -> Generator[list[_Looked], None, None]:
        """Files that were looked into, as many at once as one transaction should hold."""
        fingerprints = {file.path: file.fingerprint for file in suspects}
        started_at = time.time_ns()
        outcomes = self.parsed(surroundings, list(fingerprints), stop)
        batch: list[_Looked] = []
        since = time.monotonic()
        for path, outcome in outcomes:
            if not isinstance(outcome, Skipped):
                outcome = (complete(outcome[0], git_of(path), extra.get(path, ())), outcome[1])
            batch.append(_Looked(path, outcome, fingerprints[path], started_at))
            if len(batch) >= _BATCH_FILES or time.monotonic() - since > _BATCH_SECONDS:
                yield batch
                batch, since = [], time.monotonic()
            if stop.is_set():
                break
        if batch:
            yield batch

    def _write(
        self,
        batch: list[_Looked],
        parser_of: Callable[[str], str],
        ledger: Mapping[str, LedgerEntry],
        tally: _Tally,
        *,
        full: bool,
    ) -> None:
        with self._store.transaction() as writer:
            for looked in batch:
                path, known = looked.path, ledger.get(looked.path)
                if isinstance(looked.outcome, Skipped):
                    tally.leave_out(looked)
                    if known is not None:
                        tally.touched.remove(self._store, path)
                        writer.remove_artifact(path)
                        tally.changed.append(path)
                    continue
                parsed, fingerprint = looked.outcome
                entry = ledger_entry(path, parsed.artifact.digest, fingerprint, parser_of(path), looked.read_at_ns)
                if not full and known is not None and (known.digest, known.parser) == (entry.digest, entry.parser):
                    writer.touch_artifact(entry, parsed.artifact.git)
                    continue
                tally.touched.change(self._store, parsed, is_new=known is None)
                writer.put_artifact(parsed, entry, artifact_layer(parsed))
                tally.count(parsed)
            if tally.touched:
                writer.put_state("links", "pending")

    def _forget(self, gone: tuple[str, ...], tally: _Tally) -> None:
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
        """The last commit of each file. The whole history is read only once; later on, what came since."""
        before = self._store.state(STATE_REPO_HEAD)
        wanted = None if head != before else [file.path for file in plan.suspects]
        if head is None or wanted == []:
            return lambda _path: None
        found = git_facts(self._root, wanted, since=before if wanted is None else None)
        if found is None:
            return lambda _path: None
        known = {row.artifact.path: row.artifact.git for row in self._store.files.artifacts()} if wanted is None else {}

        def last_commit(path: str) -> GitFacts | None:
            earlier = known.get(path)
            commit = found.of(path, FileCommit(earlier.commit, earlier.timestamp) if earlier else None)
            return GitFacts(commit.commit, commit.timestamp) if commit else None

        return last_commit

    def _retime(
        self, head: str | None, unchanged: tuple[str, ...], git_of: GitOf, ledger: Mapping[str, LedgerEntry]
    ) -> None:
        """A commit gives files another last commit without changing them."""
        if head == self._store.state(STATE_REPO_HEAD):
            return
        known = {row.artifact.path: row.artifact.git for row in self._store.files.artifacts()}
        stale = [(path, git) for path in unchanged if (git := git_of(path)) != known.get(path)]
        for start in range(0, len(stale), _RETIMED_FILES):
            with self._store.transaction() as writer:
                for path, git in stale[start : start + _RETIMED_FILES]:
                    writer.touch_artifact(ledger[path], git)

    ##= docs/spec/knowledge.md#keeping-in-step
    ##% A run that was killed MUST be gone on with by the next one.
    def _derive(
        self, surroundings: Surroundings, tally: _Tally, marks: Mapping[str, str | None], progress: Progress
    ) -> None:
        """Everything that depends on more than one file, then the marks that say of what it was made."""
        pending = self._store.state("links") == "pending"
        skipped = json.dumps(dict(sorted(tally.skipped.items())))
        facts = {
            "surroundings": surroundings.version(),
            "skipped": skipped,
            "left_out": json.dumps(
                {path: [list(out.fingerprint), out.reason] for path, out in sorted(tally.left_out.items())}
            ),
            STATE_SKIPPED_FILES: str(tally.skipped.total()),
            **marks,
        }
        changed = {key: value for key, value in facts.items() if self._store.state(key) != value}
        if not (pending or changed):
            return
        progress("link", 0, 0)
        if pending:
            # Without a record of what changed, this goes on where another run was killed.
            Linker(self._store).link(tally.touched or None, progress)
        rows = [row.artifact for row in self._store.files.artifacts()]
        ids = {row.path: artifact_node_id(row.path, row.artifact_type) for row in rows}
        wanted = [s for s in self._layers if pending or f"layer:{s.name}" in changed]
        layers = {f"@{source.name}": source.layer(ids, self._symbols()) for source in wanted}
        if pending or "surroundings" in changed:
            layers["@project"] = project_layer(rows, surroundings.catalog)
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
        text = text_of(content.data) if not isinstance(content, Skipped) else content
        return None if isinstance(text, Skipped) else text


@dataclass(frozen=True, slots=True)
class _Looked:
    """A file that was looked into: its rows, or why it has none."""

    path: str
    outcome: Parsed
    fingerprint: Fingerprint
    """As it was found, before it was read."""
    read_at_ns: int


def complete(parsed: ParsedArtifact, git: GitFacts | None, extra: tuple[Chunk, ...]) -> ParsedArtifact:
    """A file with its last commit, and with the chunks that others know of it."""
    first = len(parsed.chunks)
    numbered = tuple(replace(chunk, sequence=first + number) for number, chunk in enumerate(extra))
    return replace(parsed, artifact=replace(parsed.artifact, git=git), chunks=(*parsed.chunks, *numbered))


def _count_dry(
    batch: list[_Looked], ledger: Mapping[str, LedgerEntry], parser_of: Callable[[str], str], tally: _Tally
) -> None:
    for looked in batch:
        if isinstance(looked.outcome, Skipped):
            tally.leave_out(looked)
            continue
        parsed, _ = looked.outcome
        known = ledger.get(looked.path)
        if known is None or (known.digest, known.parser) != (parsed.artifact.digest, parser_of(looked.path)):
            tally.count(parsed)


def extra_digests(extra: Mapping[str, tuple[Chunk, ...]]) -> dict[str, str]:
    """What stands for the further chunks of each file."""
    return {
        path: hashlib.sha256("\0".join(chunk.digest for chunk in chunks).encode()).hexdigest()[:12]
        for path, chunks in sorted(extra.items())
    }


def parse_left_out(text: str | None) -> dict[str, LeftOut]:
    """The files that their content kept out, as a run before remembered them."""
    return {path: LeftOut(Fingerprint(*print_), reason) for path, (print_, reason) in json.loads(text or "{}").items()}


def _marks(outside: Mapping[str, str], extra: Mapping[str, tuple[Chunk, ...]]) -> dict[str, str | None]:
    """What to remember of the layers that this run looked at."""
    return {"extra": json.dumps(extra_digests(extra)), **{f"layer:{name}": value for name, value in outside.items()}}
