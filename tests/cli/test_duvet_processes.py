"""Work in two processes: the same outcome as in one, whatever happens to the second."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contextive.cli import run
from contextive.ops import duvet_output, duvet_report
from contextive.ops.duvet_processes import at_once
from tests.running import clean_environment

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="one process is all there is")

CONFIG = """\
'$schema' = "https://awslabs.github.io/duvet/config/v0.4.0.json"
[[source]]
pattern = "src/*.rs"
[[specification]]
source = "specs/a.md"
[[specification]]
source = "specs/b.md"
[[specification]]
source = "specs/c.md"
[report.snapshot]
enabled = true
"""
OUTPUTS = ("json", "json-v2", "html", "sarif", "junit", "badge")


def test_both_pieces_are_done_and_text_survives_the_way() -> None:
    assert at_once(lambda: 1, lambda: "a\ud800é" * 100_000) == (1, "a\ud800é" * 100_000)


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor")
def test_the_second_piece_runs_in_a_process_of_its_own() -> None:
    program = "import os; from contextive.ops.duvet_processes import at_once as a; print(*a(os.getpid, lambda: str(os.getpid())))"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=clean_environment({}), capture_output=True, text=True, check=True, timeout=30)
    here, there = done.stdout.split()
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    assert (here != there) == (processors > 1 and sys.platform != "darwin")


def test_a_second_piece_that_fails_fails_as_in_one_process() -> None:
    def fail() -> str:
        raise KeyError("second")

    with pytest.raises(KeyError, match="second"):
        at_once(lambda: 1, fail)


def test_a_second_piece_that_dies_is_done_here() -> None:
    here = os.getpid()
    assert at_once(lambda: 1, lambda: "done" if os.getpid() == here else os._exit(3)) == (1, "done")


def test_a_first_piece_that_fails_leaves_no_process_behind() -> None:
    with pytest.raises(ZeroDivisionError):
        at_once(lambda: 1 // 0, lambda: "x" * 10_000_000)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize("spoiled", [False, True])
def test_a_report_in_two_processes_is_the_report_of_one(
    spoiled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CI", raising=False)
    outcomes = []
    for worth in (0, 10**9):
        root = tmp_path / str(worth) / "project"
        _write_project(root, spoiled)
        with monkeypatch.context() as patch:
            patch.chdir(root)
            patch.setattr(duvet_output, "_WORTH_TWO_PROCESSES", worth)
            patch.setattr(duvet_report, "_WORTH_TWO_PROCESSES", worth)
            code = run(["report", *(f"--{name}=out/{name}" for name in OUTPUTS)], program="duvet")
        files = {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        outcomes.append((code, capsys.readouterr(), {name: _undated(data) for name, data in files.items()}))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == int(spoiled)
    assert (Path("out/html") in outcomes[0][2]) != spoiled


def _undated(data: bytes) -> bytes:
    head, mark, rest = data.partition(b'</h1><span class="muted">')
    return head + mark + rest[rest.find(b"</span>") :] if mark else data


def _write_project(root: Path, spoiled: bool) -> None:
    """Three specifications with sentences in common, each cited from several files."""
    texts = {".duvet/config.toml": CONFIG}
    for name in "abc":
        sentences = [f"Cup {number} MUST be warm." for number in range(4)]
        texts[f"specs/{name}.md"] = "# Cups\n\n" + "".join(f"## Part {n}\n\n{s}\n\n" for n, s in enumerate(sentences))
        for number in (0, 2, 3):
            lines = [
                f"//= specs/{name}.md#part-{number}",
                *(["//= type=test"] * (number % 2)),
                f"//# {sentences[number]}",
            ]
            texts[f"src/{name}{number}.rs"] = "\n".join([*lines, "fn cup() {}", *lines, "fn more() {}", ""])
    if spoiled:
        texts["src/a0.rs"] += "//= specs/a.md#part-0\n//# é Cup 0 MUST be hot.\n"
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
