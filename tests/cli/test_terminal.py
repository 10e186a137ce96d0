"""Output for people and programs: tables and colours on a terminal, plain lines in a pipe, and JSON."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from contextive.cli.parser import COMMANDS, command_parser
from tests.processes import WAIT_SECONDS, clean_environment
from tests.raw_clients import PROGRAM

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
NO_DATA = {"serve", "call", "report", "feedback", "completion", "demo", "open", "accept", "review"}
"""Commands that print no data, or always JSON (`call`, `feedback`); `report` writes JSON, and `review` has `--format`."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "pump.md").write_text("# Pump\n\nThe pump \x1b[31mruns at night.\n", encoding="utf-8")
    done = subprocess.run(
        [*PROGRAM, "ingest", "--no-vectors", "--project", str(folder)], env=clean_environment(), capture_output=True
    )
    assert done.returncode == 0
    return folder


def piped(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [*PROGRAM, *arguments, "--project", str(folder)],
        env=clean_environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    return done.stdout


def on_a_terminal(folder: Path, *arguments: str) -> str:
    """The output of a command on a terminal."""
    master, slave = pty.openpty()
    environment = {**clean_environment(), "TERM": "xterm-256color", "COLUMNS": "100", "NO_COLOR": ""}
    environment.pop("NO_COLOR")
    process = subprocess.Popen(
        [*PROGRAM, *arguments, "--project", str(folder)], env=environment, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    shown = b""
    try:
        while block := os.read(master, 65536):
            shown += block
    except OSError:
        pass  # the command has ended
    finally:
        os.close(master)
        assert process.wait(60) == 0
    return shown.decode("utf-8")


def test_status_is_a_table_on_a_terminal_and_plain_in_a_pipe(project: Path) -> None:
    plain = piped(project, "status")
    assert "files: 1" in plain.splitlines()
    assert not COLOUR.search(plain)
    assert "store.counts.chunk: 1" in plain.splitlines()
    assert max(map(len, plain.splitlines())) < 200, "nested values have a line each"
    shown = on_a_terminal(project, "status")
    assert COLOUR.search(shown)
    lines = [re.split(r"\s{2,}", line.strip()) for line in COLOUR.sub("", shown).splitlines()]
    assert ["files", "1", "doc 1"] in lines
    assert json.loads(piped(project, "status", "--json"))["files"] == 1


def test_a_server_on_a_terminal_says_where_it_is(project: Path) -> None:
    master, slave = pty.openpty()
    command = [*PROGRAM, "serve", "--http", "--port", "0", "--project", str(project)]
    server = subprocess.Popen(command, env=clean_environment(), stdin=slave, stdout=slave, stderr=subprocess.DEVNULL)
    os.close(slave)
    try:
        printed = b""
        while b"browser." not in printed:
            assert select.select([master], [], [], WAIT_SECONDS)[0], f"the server printed only {printed!r}"
            printed += os.read(master, 65536)
        where, what = printed.decode().splitlines()
        assert re.match(rf"Serving {project.name} at http://127\.0\.0\.1:\d+/mcp\. Ctrl-C stops the server\.", where)
        assert re.search(r"open http://127\.0\.0\.1:\d+ in a browser\.", what)
    finally:
        server.terminate()
        server.wait(60)
        os.close(master)


def test_a_phase_without_a_total_disappears_when_the_next_one_starts(project: Path) -> None:
    frames = COLOUR.sub("", on_a_terminal(project, "ingest", "--no-vectors", "--full"))
    assert "parse" in frames
    assert "discover" not in frames[frames.rindex("parse") :]


def test_long_descriptions_wrap_in_their_column_on_a_terminal(project: Path) -> None:
    lines = COLOUR.sub("", on_a_terminal(project, "tools")).splitlines()
    assert max(map(len, lines)) <= 100
    names = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert names == [line.split()[0] for line in piped(project, "tools").splitlines()]
    checked = COLOUR.sub("", on_a_terminal(project, "check")).splitlines()
    assert [line for line in checked if line.startswith(" " * 15) and "km-search" in line]


def test_search_is_coloured_on_a_terminal_and_plain_in_a_pipe(project: Path) -> None:
    plain = piped(project, "search", "pump")
    assert plain.startswith(" 1. pump.md:1-3")
    assert not COLOUR.search(plain)
    shown = on_a_terminal(project, "search", "pump")
    assert "\x1b[1mpump\x1b[0m" in shown, "the words of the query are highlighted"
    assert " 1 pump.md:1-3" in COLOUR.sub("", shown)


def test_indexed_text_cannot_control_a_terminal(project: Path) -> None:
    for shown in (piped(project, "search", "night"), on_a_terminal(project, "search", "night")):
        assert "\x1b[31m" not in shown
        assert "[31mruns at" in COLOUR.sub("", shown)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in NO_DATA])
def test_every_command_that_prints_data_has_a_json_flag(command: str) -> None:
    flags = [flag for action in command_parser("contextive-mcp", command)._actions for flag in action.option_strings]
    assert "--json" in flags


def test_a_command_ends_cleanly_while_a_model_is_loading(tmp_path: Path) -> None:
    """The library of the model usually aborts a process that shuts down the normal way meanwhile; see `_exit_now`."""
    code = """
import sys, threading
from contextive.cli import main
from contextive.search.embedding.minilm import MiniLmEmbedder
from contextive.search.embedding.factory import BackgroundEmbedder

began = threading.Event()

def load():
    MiniLmEmbedder()
    began.set()
    while True:
        MiniLmEmbedder()

BackgroundEmbedder(load).start()
began.wait()
main(["schema"])
"""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(3)
    ]
    for process in running:
        output, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, b"")
        assert json.loads(output)


def test_the_state_directory_is_not_reported_as_skipped(project: Path) -> None:
    assert "skipped   none" in COLOUR.sub("", on_a_terminal(project, "status"))
    assert "skipped" not in piped(project, "ingest", "--no-vectors")
    (project / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    assert "skipped: image 1\n" in piped(project, "ingest", "--no-vectors")


def test_a_cut_line_ends_with_an_ellipsis_in_a_pipe(project: Path) -> None:
    (project / "well.md").write_text(f"# Well\n\nThe water {'runs and ' * 30}stops.\n", encoding="utf-8")
    piped(project, "ingest", "--no-vectors")
    shown = next(line for line in piped(project, "search", "water").splitlines() if "runs and" in line)
    assert shown.endswith("…")
    assert len(shown) == 6 + 110
