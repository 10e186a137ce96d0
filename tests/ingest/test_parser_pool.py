"""Files are parsed in worker processes: in parallel, and without harm if a parser hangs or crashes."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextive.errors import Unavailable
from contextive.ingest.indexer import Indexer
from contextive.ingest.parser_pool import ParserPool, ParseSettings, _Worker, parse_in_process
from contextive.ingest.settings import IngestRequest, IngestSettings
from contextive.knowledge.artifact_parser import ParseContext
from contextive.store import open_store
from contextive.workspace.contents import Skipped
from tests.processes import wait_until

HANGING = "/*\n" * 20_000
"""A text on which the Python grammar hangs."""


@pytest.fixture
def settings(tmp_path: Path) -> ParseSettings:
    return ParseSettings(tmp_path, 1_000_000, ParseContext())


@pytest.fixture
def pool() -> Iterator[ParserPool]:
    pool = ParserPool(2, file_seconds=3.0)
    yield pool
    pool.close()


def write_files(root: Path, count: int) -> list[str]:
    paths = [f"module{number}.py" for number in range(count)]
    for number, path in enumerate(paths):
        (root / path).write_text(
            f'def f{number}():\n    """Number {number}."""\n    return {number}\n', encoding="utf-8"
        )
    return paths


def children() -> set[int]:
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=False
    )
    return {int(word) for word in found.stdout.split()}


def test_a_pool_returns_the_same_as_parsing_in_process(
    pool: ParserPool, settings: ParseSettings, tmp_path: Path
) -> None:
    paths = write_files(tmp_path, 50)
    (tmp_path / "broken.py").write_bytes(b"\xff\xfe\x00")
    paths.append("broken.py")
    found = dict(pool.parse(settings, paths, threading.Event()))
    assert found == dict(parse_in_process(settings, paths))
    assert isinstance(found["broken.py"], Skipped)


def test_a_pool_can_be_used_again_with_other_settings(
    pool: ParserPool, settings: ParseSettings, tmp_path: Path
) -> None:
    paths = write_files(tmp_path, 3)
    assert len(list(pool.parse(settings, paths, threading.Event()))) == 3
    other = ParseSettings(tmp_path, 1_000_000, ParseContext(symbols=False))
    for _, outcome in pool.parse(other, paths, threading.Event()):
        assert not isinstance(outcome, Skipped)
        assert outcome[0].symbols == ()


##= docs/spec/knowledge.md#chunks-and-symbols
##% When a grammar hangs or fails on a file, the file MUST be indexed by lines.
def test_a_file_on_which_the_grammar_hangs_is_indexed_by_lines(
    pool: ParserPool, settings: ParseSettings, tmp_path: Path
) -> None:
    paths = [*write_files(tmp_path, 4), "hanging.py"]
    (tmp_path / "hanging.py").write_text(HANGING, encoding="utf-8")
    started = time.monotonic()
    found = dict(pool.parse(settings, ["hanging.py", *paths[:4]], threading.Event()))
    assert time.monotonic() - started < 60
    assert set(found) == set(paths)
    hanging = found["hanging.py"]
    assert not isinstance(hanging, Skipped)
    assert (hanging[0].symbols, bool(hanging[0].chunks)) == ((), True)
    assert all(not isinstance(found[path], Skipped) and found[path][0].symbols for path in paths[:4])  # type: ignore[index]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
def test_a_worker_that_dies_is_replaced(pool: ParserPool, settings: ParseSettings, tmp_path: Path) -> None:
    paths = write_files(tmp_path, 40)
    before = children()
    assert len(list(pool.parse(settings, paths, threading.Event()))) == 40
    workers = children() - before
    assert workers
    for worker in workers:
        with contextlib.suppress(ProcessLookupError):  # the ps process that listed them
            os.kill(worker, signal.SIGKILL)
    assert len(list(pool.parse(settings, paths, threading.Event()))) == 40


def test_a_stopped_pool_ends_quickly(pool: ParserPool, settings: ParseSettings, tmp_path: Path) -> None:
    paths = write_files(tmp_path, 200)
    stop = threading.Event()
    seen = 0
    for _ in pool.parse(settings, paths, stop):
        seen += 1
        if seen == 5:
            stop.set()
    assert seen < 200


def test_ending_idle_workers_does_not_interrupt_a_run(
    pool: ParserPool, settings: ParseSettings, tmp_path: Path
) -> None:
    paths = write_files(tmp_path, 100)
    for _, outcome in pool.parse(settings, paths, threading.Event()):
        pool.end_idle_workers()
        assert not isinstance(outcome, Skipped)
        assert outcome[0].symbols  # a file of a killed worker would have no symbols


def test_a_pool_closed_during_a_run_still_parses_every_file(
    pool: ParserPool, settings: ParseSettings, tmp_path: Path
) -> None:
    paths = write_files(tmp_path, 200)
    found = set()
    for path, _ in pool.parse(settings, paths, threading.Event()):
        found.add(path)
        if len(found) % 10 == 1:
            pool.close()
    assert found == set(paths)


def test_a_worker_imports_nothing_from_the_project(pool: ParserPool, settings: ParseSettings, tmp_path: Path) -> None:
    mark = tmp_path / "imported"
    for name in ("json.py", "contextive.py", "pickle.py", "sitecustomize.py"):
        (tmp_path / name).write_text(f"open({str(mark)!r}, 'w')\n", encoding="utf-8")
    assert len(list(pool.parse(settings, ["json.py", "contextive.py"], threading.Event()))) == 2
    assert not mark.exists()


BUSY = """
import re
from contextive.ingest import parser_pool
parse = parser_pool.parse_file
def busy(settings, path, *, plain=False):
    if path == "busy.md" or (path == "busy.py" and not plain):
        re.match("(a|aa)+b", "a" * 200)  # practically forever, and holding the interpreter lock
    return parse(settings, path, plain=plain)
parser_pool.parse_file = busy
parser_pool.run_worker()
"""
"""A worker that hangs on two files: on busy.md always, on busy.py only with its grammar."""


##= docs/spec/knowledge.md#chunks-and-symbols
##% A file that exceeds the time limit for parsing even without its grammar MUST be skipped and counted as
##% `parse_limit`.
def test_a_file_that_takes_too_long_even_without_its_grammar_is_skipped_and_logged(
    settings: ParseSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("contextive.ingest.parser_pool._PROGRAM", BUSY)
    paths = ["busy.md", "busy.py", *write_files(tmp_path, 4)]
    (tmp_path / "busy.md").write_text("# A\n", encoding="utf-8")
    (tmp_path / "busy.py").write_text("def f(): pass\n", encoding="utf-8")
    pool = ParserPool(2, file_seconds=1.0)
    try:
        found = dict(pool.parse(settings, paths, threading.Event()))
    finally:
        pool.close()
    assert found["busy.md"] == Skipped("parse_limit")
    assert "busy.md" in caplog.text
    plain = found["busy.py"]
    assert not isinstance(plain, Skipped)
    assert (plain[0].symbols, len(plain[0].chunks)) == ((), 1)
    assert all(not isinstance(found[path], Skipped) and found[path][0].symbols for path in paths[2:])  # type: ignore[index]


def test_a_skipped_file_is_counted_and_tried_again_only_when_it_changes(
    settings: ParseSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextive.ingest.parser_pool._PROGRAM", BUSY)
    root = tmp_path / "project"
    root.mkdir()
    (root / "busy.md").write_text("# A\n", encoding="utf-8")
    changed = (root / "busy.md").stat().st_ctime
    wait_until(lambda: time.time() > changed + 1.0, "the file to be old enough to be remembered", 10.0)
    pool = ParserPool(1, file_seconds=3.0)
    store = open_store(tmp_path / "state")
    try:
        indexer = Indexer(root, store, IngestSettings(), pool=pool)
        assert indexer.run(IngestRequest()).run.skipped == {"parse_limit": 1}
        started = time.monotonic()
        assert indexer.run(IngestRequest()).run.skipped == {"parse_limit": 1}
        assert time.monotonic() - started < 3.0, "it was parsed again"
    finally:
        pool.close()
        store.close()


def test_a_run_that_is_stopped_does_not_wait_for_a_busy_worker(
    settings: ParseSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextive.ingest.parser_pool._PROGRAM", BUSY)
    (tmp_path / "busy.md").write_text("# A\n", encoding="utf-8")
    pool, stop, before = ParserPool(1, file_seconds=60.0), threading.Event(), children()
    ended = threading.Event()

    def run() -> None:
        assert list(pool.parse(settings, ["busy.md"], stop)) == []
        ended.set()

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: bool(children() - before), "a worker starts")
    stop.set()
    assert ended.wait(5), "the run waits for its worker"
    thread.join(5)
    wait_until(lambda: all(_is_gone(pid) for pid in children() - before), "the worker is ended", 10)


def _is_gone(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return state.stdout.strip() in ("", "Z", "ZN")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_a_worker_ends_itself_if_its_parent_is_gone(tmp_path: Path, settings: ParseSettings) -> None:
    (tmp_path / "busy.md").write_text("# A\n", encoding="utf-8")
    messages = pickle.dumps(settings) + pickle.dumps(["busy.md"])
    done = subprocess.run(
        [sys.executable, "-P", "-c", BUSY, "1.0"], input=messages, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == -signal.SIGALRM


##= docs/spec/knowledge.md#chunks-and-symbols
##% Files MUST NOT be parsed in the server process.
def test_if_no_worker_can_start_the_run_fails_and_parses_nothing(
    settings: ParseSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextive.ingest.parser_pool._PROGRAM", "raise SystemExit(1)")
    parsed: list[str] = []
    monkeypatch.setattr("contextive.ingest.parser_pool.parse_file", lambda _settings, path, **_: parsed.append(path))
    broken = ParserPool(2)
    with pytest.raises(Unavailable, match="no parser process can be started"):
        list(broken.parse(settings, write_files(tmp_path, 20), threading.Event()))
    broken.close()
    assert parsed == []


def test_a_pipe_closed_during_a_write_leaves_no_file_out(
    pool: ParserPool, settings: ParseSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, closed = _Worker._stream, io.BytesIO()
    closed.close()
    calls = itertools.count()
    monkeypatch.setattr(_Worker, "_stream", lambda worker: closed if next(calls) % 3 == 0 else real(worker))
    paths = write_files(tmp_path, 20)
    assert dict(pool.parse(settings, paths, threading.Event())) == dict(parse_in_process(settings, paths))


def test_rows_survive_pickling(tmp_path: Path, settings: ParseSettings) -> None:
    (tmp_path / "a.py").write_text(
        "import os\n\n\nclass A:\n    def f(self) -> None:\n        os.getpid()\n", encoding="utf-8"
    )
    (tmp_path / "b.md").write_text("# B\n\nSee [a](a.py). #tag\n", encoding="utf-8")
    for path, outcome in parse_in_process(settings, ["a.py", "b.md"]):
        assert not isinstance(outcome, Skipped), path
        sent = pickle.loads(pickle.dumps(outcome))
        assert sent == outcome
        assert repr(sent) == repr(outcome)
