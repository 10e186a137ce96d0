"""Parses files in worker processes: in parallel, and without harm if a parser hangs or crashes.

Grammars are third-party code, and a crafted text can keep one busy for hours. So a worker that does not answer in
time is killed. The file is tried once more without its grammar, in another worker and with the same limit; if that
takes too long as well, the file is skipped. A file is never parsed in the server process.
"""

from __future__ import annotations

import contextlib
import copyreg
import gc
import logging
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import IO, Any

from contextive.errors import Unavailable
from contextive.ingest.gc_tuning import GC_THRESHOLD
from contextive.knowledge.artifact import Artifact, ParsedArtifact
from contextive.knowledge.artifact_parser import ParseContext, parse_artifact
from contextive.knowledge.chunk import Chunk
from contextive.knowledge.symbol import Reference, Symbol
from contextive.workspace.contents import Skipped, decode_text, read_bytes
from contextive.workspace.files import Fingerprint
from contextive.workspace.generated_files import reason_by_content

logger = logging.getLogger(__name__)

ParseOutcome = tuple[ParsedArtifact, Fingerprint] | Skipped

FILE_SECONDS = 10.0
_START_SECONDS = 60.0
_STARTS = 3
"""Attempts to start a worker before the run gives up."""
_POLL_SECONDS = 0.1
_GRACE_SECONDS = 2.0
"""A worker kills itself this long after its time limit, in case the parent process is gone."""
_BATCH = 8
_WAITING = 64
_PROGRAM = "from contextive.ingest.parser_pool import run_worker; run_worker()"


def _pickle_as_call(kind: type[Any]) -> None:
    """Pickle instances as a constructor call: the default for frozen dataclasses costs three times as much."""
    values = attrgetter(*(field.name for field in fields(kind)))
    copyreg.pickle(kind, lambda value: (kind, values(value)))


for _kind in (Artifact, Chunk, ParsedArtifact, Reference, Symbol):
    _pickle_as_call(_kind)


@dataclass(frozen=True, slots=True)
class ParseSettings:
    """Where files are read from, their size limit, and the facts about the project that parsing needs."""

    root: Path
    max_bytes: int
    context: ParseContext


def parse_file(settings: ParseSettings, path: str, *, plain: bool = False) -> ParseOutcome:
    """The rows of a file, or why it has none. `plain` parses without symbols, and so without a grammar."""
    content = read_bytes(settings.root, path, settings.max_bytes)
    if isinstance(content, Skipped):
        return content
    text = decode_text(content.data)
    if isinstance(text, Skipped):
        return text
    if path not in settings.context.kept and (reason := reason_by_content(path, text)) is not None:
        return Skipped(reason, content.fingerprint)
    return parse_artifact(path, content.data, text, settings.context, plain=plain), content.fingerprint


def parse_in_process(settings: ParseSettings, paths: Iterable[str]) -> Iterator[tuple[str, ParseOutcome]]:
    """Parse every file in this process, one after the other."""
    for path in paths:
        yield path, parse_file(settings, path)


##= docs/spec/knowledge.md#chunks-and-symbols
##% Files MUST NOT be parsed in the server process.
class ParserPool:
    """Worker processes. They start on first use and end with `close`."""

    def __init__(self, count: int, file_seconds: float = FILE_SECONDS) -> None:
        self._workers = [_Worker(file_seconds) for _ in range(count)]
        self._lock = threading.Lock()

    def parse(
        self, settings: ParseSettings, paths: Sequence[str], stop: threading.Event
    ) -> Iterator[tuple[str, ParseOutcome]]:
        """The outcome of every file, in the order of completion. Raises Unavailable if no worker can be started."""
        with self._lock:
            yield from self._parse(settings, paths, stop)

    def _parse(
        self, settings: ParseSettings, paths: Sequence[str], stop: threading.Event
    ) -> Iterator[tuple[str, ParseOutcome]]:
        batches: queue.SimpleQueue[Sequence[str]] = queue.SimpleQueue()
        for start in range(0, len(paths), _BATCH):
            batches.put(paths[start : start + _BATCH])
        done: queue.Queue[tuple[str, ParseOutcome] | OSError] = queue.Queue(_WAITING)
        ending = threading.Event()
        needed = min(len(self._workers), (len(paths) + _BATCH - 1) // _BATCH)
        threads = [
            threading.Thread(target=worker.serve, args=(settings, batches, done, ending), daemon=True)
            for worker in self._workers[:needed]
        ]
        for thread in threads:
            thread.start()
        remaining = dict.fromkeys(paths)
        try:
            while remaining and not stop.is_set():
                try:
                    result = done.get(timeout=_POLL_SECONDS)
                except queue.Empty:
                    continue
                if isinstance(result, OSError):
                    raise Unavailable(
                        f"Files cannot be parsed: no parser process can be started ({result}).",
                        hint="Check that the system lets this program start processes, and try again.",
                    )
                del remaining[result[0]]
                yield result
        finally:
            ending.set()
            for thread in threads:
                thread.join(timeout=1.0)

    def end_idle_workers(self) -> None:
        """Stop the workers if they are idle. If a run has started meanwhile, they continue."""
        if self._lock.acquire(blocking=False):
            try:
                self.close()
            finally:
                self._lock.release()

    def close(self) -> None:
        for worker in self._workers:
            worker.end()


class _RunEnded(Exception):
    """The run has ended, so the answer of a worker is no longer needed."""


@dataclass(frozen=True, slots=True)
class _PlainFile:
    """A file to parse without its grammar."""

    path: str


class _Worker:
    """One worker process, and the thread that reads its answers."""

    def __init__(self, file_seconds: float) -> None:
        self._file_seconds = file_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._sent_settings: ParseSettings | None = None
        self._ends = 0

    def serve(
        self,
        settings: ParseSettings,
        batches: queue.SimpleQueue[Sequence[str]],
        done: queue.Queue[tuple[str, ParseOutcome] | OSError],
        ending: threading.Event,
    ) -> None:
        """Process batches until there are none left. If the run ends while the process is busy, it is killed."""
        try:
            while not ending.is_set():
                try:
                    batch = batches.get_nowait()
                except queue.Empty:
                    return
                for outcome in self._batch(settings, list(batch), ending):
                    if not _put(done, outcome, ending):
                        raise _RunEnded
        except _RunEnded:
            self._kill()
        except (OSError, ValueError) as error:  # ValueError: a pipe was closed by another thread
            _put(done, OSError(str(error)), ending)

    ##= docs/spec/knowledge.md#chunks-and-symbols
    ##% When a grammar hangs or fails on a file, the file MUST be indexed by lines.
    ##= docs/spec/knowledge.md#chunks-and-symbols
    ##% A file that exceeds the time limit for parsing even without its grammar MUST be skipped and counted as
    ##% `parse_limit`.
    def _batch(
        self, settings: ParseSettings, paths: list[str], ending: threading.Event
    ) -> Iterator[tuple[str, ParseOutcome]]:
        while paths:
            ends = self._ends
            self._send(settings, paths, ending)
            for number, path in enumerate(paths):
                answer = self._receive(self._file_seconds, ending)
                if answer is None:
                    self._kill()
                    paths = paths[number:]
                    if ends == self._ends:
                        yield path, self._plain(settings, path, ending)
                        paths = paths[1:]
                    break
                yield path, answer
            else:
                return

    def _plain(self, settings: ParseSettings, path: str, ending: threading.Event) -> ParseOutcome:
        """Parse a file without its grammar, within the same limit; if that takes too long as well, skip it."""
        while True:
            ends = self._ends
            self._send(settings, [_PlainFile(path)], ending)
            answer: ParseOutcome | None = self._receive(self._file_seconds, ending)
            if answer is not None:
                return answer
            self._kill()
            if ends == self._ends:
                logger.warning("skipped %r: it cannot be parsed within %g seconds", path, self._file_seconds)
                return Skipped("parse_limit")

    def _send(self, settings: ParseSettings, files: Sequence[str | _PlainFile], ending: threading.Event) -> None:
        """Send files to the process. If another thread has just ended it, it is started again."""
        failures = 0
        while True:
            ends = self._ends
            try:
                stream = self._stream()
                if settings is not self._sent_settings:
                    stream.write(pickle.dumps(settings))
                    stream.flush()
                    self._sent_settings = settings
                    if self._receive(_START_SECONDS, ending) is None:
                        raise OSError("a parser process did not start")
                pickle.dump(list(files), stream)
                stream.flush()
            except (OSError, ValueError):
                self._kill()
                failures += ends == self._ends
                if failures == _STARTS:
                    raise
            else:
                return

    def _receive(self, seconds: float, ending: threading.Event) -> Any:
        """The next answer; None if there is none in time, or if the process has ended."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                return self._answers.get(timeout=min(left, _POLL_SECONDS))
            except queue.Empty:
                if ending.is_set():
                    raise _RunEnded from None
        return None

    def _stream(self) -> IO[bytes]:
        process = self._process  # another thread may end it at any moment
        if process is None or process.poll() is not None:
            self._kill()
            self._answers = queue.SimpleQueue()
            # Not in the project directory: its modules must never be imported.
            process = self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, str(self._file_seconds + _GRACE_SECONDS)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=Path(sys.executable).parent,
            )
            threading.Thread(target=_read_answers, args=(process.stdout, self._answers), daemon=True).start()
        assert process.stdin is not None
        return process.stdin

    def end(self) -> None:
        """End the process. The counter says that the current file is not the reason."""
        self._ends += 1
        self._kill()

    def _kill(self) -> None:
        process, self._process, self._sent_settings = self._process, None, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()


def _read_answers(stream: IO[bytes], answers: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            answers.put(pickle.load(stream))  # noqa: S301 - written by our worker process
    except Exception:  # noqa: BLE001 - on any error the waiting thread must be notified
        answers.put(None)


def _put(done: queue.Queue[Any], value: Any, ending: threading.Event) -> bool:
    while not ending.is_set():
        try:
            done.put(value, timeout=0.2)
        except queue.Full:
            continue
        return True
    return False


def run_worker() -> None:
    """The worker process: reads settings and lists of files, and answers file by file until its input ends."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # printed text must not get between the answers
    if hasattr(os, "nice"):
        os.nice(5)
    gc.set_threshold(GC_THRESHOLD)
    seconds = float(sys.argv[1])
    settings: ParseSettings | None = None
    while True:
        try:
            message = pickle.load(source)  # noqa: S301 - written by the parent process
        except EOFError:
            return
        if isinstance(message, ParseSettings):
            settings = message
            pickle.dump(True, sink)
            sink.flush()
            continue
        assert settings is not None
        for file in message:
            with _killed_after(seconds):
                is_plain = isinstance(file, _PlainFile)
                outcome = parse_file(settings, file.path if is_plain else file, plain=is_plain)
            pickle.dump(outcome, sink, pickle.HIGHEST_PROTOCOL)
            sink.flush()


@contextlib.contextmanager
def _killed_after(seconds: float) -> Iterator[None]:
    """The system kills this process if the block takes longer."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, seconds)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
