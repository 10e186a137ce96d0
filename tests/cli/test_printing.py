"""Names and texts of a project that commands print cannot control a terminal or a CI runner."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import contextive
from contextive.trace.reports.safe_text import printable_line, printable_lines
from tests.processes import clean_environment

NAMES = [
    "nl\n::error::pwn.py",
    "cr\r::stop-commands::x.py",
    "esc\x1b[31m.py",
    "csi\x9b31m.py",
    "bidi\u202e.py",
    "a##[error]b.py",
]
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def is_command(line: str) -> bool:
    """Whether the GitHub runner treats a line as a command: `ActionCommand.TryParseV2` and `TryParse` in its source."""
    stripped = line.lstrip().replace("\ufe0e", "").replace("\ufe0f", "")
    return stripped.startswith("::") or "##[" in stripped


##= docs/spec/host.md#commands
##% A line of the human-readable output of a command MUST NOT be a GitHub Actions workflow command.
@given(st.text())
@example("::error::x")
@example(" \u3000\ufe0f::error::x")
@example("a ##[error]x ###[b]")
@example("\n::error::x\r::y\u2028::z")
def test_no_printed_line_is_a_workflow_command_or_has_hidden_characters(text: str) -> None:
    line = printable_line(text)
    assert len(line.splitlines()) <= 1
    assert not is_command(line)
    assert not HIDDEN.search(line.replace("\t", ""))
    assert [line for line in printable_lines(text) if is_command(line)] == []


@pytest.mark.parametrize("text", ["  × It failed.", "    a.md:3  std::vector", "##= a.md#b", "é 日本 👍🏽", "\ta"])
def test_ordinary_lines_are_printed_unchanged(text: str) -> None:
    assert printable_line(text) == text


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    for name in NAMES:
        (tmp_path / "src" / name).write_text("##= gone.md#a\n##% Nothing \x1b[31m.\n", encoding="utf-8")
    (tmp_path / "src" / os.fsdecode(b"bytes\xff.py")).write_text("##= gone.md#a\n##% Nothing.\n", encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "::error::spec.md").write_text("# A\n\n::error::It MUST work.\n", encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    module = "from contextive.cli import main, duvet_main; import sys; "
    program = "duvet_main" if arguments[0] == "duvet" else "main"
    return subprocess.run(
        [sys.executable, "-c", f"{module}{program}(sys.argv[1:])", *arguments[1:]],
        cwd=folder, env=clean_environment(), capture_output=True, encoding="utf-8", timeout=60,
    )  # fmt: skip


##= docs/spec/host.md#commands
##% The human-readable output of a command MUST spell out control and invisible characters, including line breaks in
##% names.
@pytest.mark.parametrize(
    "arguments",
    [
        ("duvet", "report"),
        ("duvet", "report", "--ci"),
        ("duvet", "query"),
        ("duvet", "extract", "docs/::error::spec.md", "-f", "markdown"),
        ("duvet", "report", "--config-path", "x\n::error::y"),
        ("duvet", "merge", "--input", "x\n::error::y", "--output", "z"),
        ("duvet", "::error::x"),
        ("contextive", "ingest", "--no-vectors"),
        ("contextive", "verify"),
        ("contextive", "search", "--no-such\n::error::"),
        ("contextive", "report", "--project", "x\n::error::y"),
        ("contextive", "init", "--dry-run"),
    ],
)
def test_no_command_prints_control_characters_of_a_name(project: Path, arguments: tuple[str, ...]) -> None:
    ended = run(project, *arguments)
    assert "Traceback" not in ended.stderr
    for line in (ended.stdout + ended.stderr).split("\n"):
        assert not is_command(line), line
        assert not HIDDEN.search(line), line
    if arguments == ("duvet", "report"):
        assert "src/nl[U+000A]::error::pwn.py" in ended.stderr
        assert "src/esc[U+001B][31m.py" in ended.stderr


def test_only_github_annotations_are_workflow_commands(project: Path) -> None:
    ended = run(project, "duvet", "report", "--format", "github")
    assert not any(map(is_command, ended.stderr.split("\n")))
    commands = ended.stdout.split("\n")[:-1]
    assert commands
    assert all(re.match("::(?:error|warning|notice) file=", line) for line in commands)
    assert not HIDDEN.search(ended.stdout.replace("\n", ""))


def test_control_characters_in_log_messages_are_escaped() -> None:
    code = (
        "import logging\nfrom contextive.cli.printing import escape_log_lines\nescape_log_lines()\n"
        "try:\n    raise ValueError('a\\n::error::b\\x1b')\n"
        "except ValueError:\n    logging.getLogger('x').warning('of %s', 'c\\n::error::d', exc_info=True)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=60, check=True)
    first, second, *_ = ended.stderr.split("\n")
    assert (first, second) == ("of c[U+000A]::error::d", "Traceback (most recent call last):")
    assert not any(map(is_command, ended.stderr.split("\n")))
    assert "\x1b" not in ended.stderr


def test_only_the_printing_module_prints() -> None:
    """ruff forbids `print` elsewhere. The rich consoles print only text that `tables` escaped, or no text of a project."""
    source = Path(contextive.__file__).parent
    found = {
        path.relative_to(source).as_posix() for path in source.rglob("*.py") if "Console(" in path.read_text("utf-8")
    }
    assert found == {"cli/install.py", "cli/progress.py", "cli/tables.py", "ops/demo.py"}
    writing = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(r"sys\.std(?:out|err)\.write\(", path.read_text("utf-8"))
    }
    # A server over HTTP says on a terminal where it listens; the action prints commands for its runner, escaped.
    assert writing == {"server/http.py", "ops/pull_request.py"}
