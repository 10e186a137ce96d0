"""A large specification: its requirements, their files and the code of its report are made beside the rest of the work."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from contextive.ingest.traced_project import TracedProject
from contextive.ops import second_process
from contextive.ops.second_process import SecondProcess
from contextive.trace.duvet_config import SpecificationSource, TraceSettings
from contextive.trace.specification import Specification
from contextive.trace.target import Target
from contextive.workspace.files import ProjectFiles
from tests.running import clean_environment

SECTIONS = 100
CONFIG = """\
'$schema' = "https://awslabs.github.io/duvet/config/v0.4.0.json"

[[source]]
pattern = "{pattern}"

[[specification]]
source = "spec.md"

[report.html]
enabled = false
"""


MAIN = "from contextive.cli import duvet_main; duvet_main()"
IN_ONE_PROCESS = f"import contextive.ops.second_process as files; files._ENOUGH_BYTES = 1 << 60; {MAIN}"
ASIDE_IN_VAIN = (
    "import contextive.ops.second_process as files\n"
    f"def fail(self, *pipes): raise OSError\nfiles.SecondProcess._work = fail\n{MAIN}"
)
NO_PAGE_ASIDE = (
    "import os, contextive.ops.second_process as files\n"
    f"files.SecondProcess._make_page = lambda *_: os._exit(1)\n{MAIN}"
)
CODE_ASIDE_ALONE = (
    "import os, contextive.ops.excerpts as excerpts\n"
    "parent, cut = os.getpid(), excerpts.Excerpts._cut\n"
    "excerpts.Excerpts._cut = lambda *all: cut(*all) if os.getpid() != parent else {}\n"
    f"{MAIN}"
)
NO_LAST_CHAPTERS = (
    "import contextive.ops.page_share as share\n"
    "make = share.make_share\n"
    "share.make_share = lambda *all, **more: dict.fromkeys(make(*all, **more), '')\n"
    f"{MAIN}"
)
KILLED_ASIDE = (
    "import os, signal, contextive.ops.requirement_files as files\n"
    f"files.write_requirement_file = files.write_requirement_files = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n{MAIN}"
)


def _project(folder: Path, pattern: str = "src/**/*.rs") -> Path:
    (folder / ".duvet").mkdir()
    (folder / ".duvet/config.toml").write_text(CONFIG.format(pattern=pattern), encoding="utf-8")
    filler = "\nThis is known.\nIt has been thought about.\n" * 50
    sections = (f"## Part {number}\n\nPart {number} MUST hold.\n{filler}" for number in range(SECTIONS))
    text = "# Parts\n\n" + "\n".join(sections)
    assert len(text) > second_process._ENOUGH_BYTES
    (folder / "spec.md").write_text(text, encoding="utf-8")
    (folder / "src").mkdir()
    (folder / "src/main.rs").write_text("//= spec.md#part-3\n//# Part 3 MUST hold.\n", encoding="utf-8")
    return folder


def _duvet(folder: Path, *arguments: str, program: str = MAIN) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=folder, env=clean_environment({}), capture_output=True, text=True, timeout=60)


def _written(folder: Path) -> dict[str, str]:
    files = (folder / ".duvet/requirements").rglob("*.toml")
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def test_every_file_is_there_when_the_command_ends(tmp_path: Path) -> None:
    project = _project(tmp_path)
    done = _duvet(project, "report")
    assert done.returncode == 0, done.stderr
    by_report = _written(project)
    assert len(by_report) == SECTIONS
    for number in (0, SECTIONS - 1):
        assert f"Part {number} MUST hold." in by_report[f".duvet/requirements/spec/part-{number}.toml"]
    assert done.stderr.count("Extracted") == 1, "nothing is said twice by a process that was forked"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="names that stand in the way are tried on POSIX")
def test_a_file_that_cannot_be_written_is_an_error_of_the_command(tmp_path: Path) -> None:
    project = _project(tmp_path)
    (project / ".duvet/requirements/spec/part-7.toml").mkdir(parents=True)
    done = _duvet(project, "report")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "part-7.toml" in done.stderr


def test_files_that_are_sources_too_are_written_before_they_are_scanned(tmp_path: Path) -> None:
    project = _project(tmp_path, pattern="**/*.toml")
    first, second = _duvet(project, "report"), _duvet(project, "report")
    assert first.returncode == second.returncode == 0, first.stderr
    scanned = [next(line for line in done.stderr.splitlines() if "Scanned" in line) for done in (first, second)]
    assert scanned[0].split("s (")[0] == scanned[1].split("s (")[0]


def _outcome(folder: Path, program: str) -> tuple[dict[str, str], str, str]:
    """What a report leaves behind and says, with nothing left of the run before."""
    shutil.rmtree(folder / ".duvet/requirements", ignore_errors=True)
    done = _duvet(folder, "report", "--json", "report.json", program=program)
    assert done.returncode == 0, done.stderr
    return _written(folder), (folder / "report.json").read_text(encoding="utf-8"), done.stderr


def test_it_makes_no_difference_who_extracts(tmp_path: Path) -> None:
    project = _project(tmp_path)
    alone = _outcome(project, IN_ONE_PROCESS)
    assert len(alone[0]) == SECTIONS
    assert _outcome(project, MAIN) == alone
    assert _outcome(project, ASIDE_IN_VAIN) == alone, "what fails aside is done again here"


def _page(folder: Path, program: str) -> str:
    """The HTML report, without the moment in which it was written."""
    done = _duvet(folder, "report", "--html", "report.html", program=program)
    assert done.returncode == 0, done.stderr
    return re.sub(r"[0-9-]+ [0-9:]+ UTC", "", (folder / "report.html").read_text(encoding="utf-8"))


def test_it_makes_no_difference_who_shows_the_code(tmp_path: Path) -> None:
    project = _project(tmp_path)
    alone = _page(project, IN_ONE_PROCESS)
    assert alone.count('<pre class="code"') == 1
    assert _page(project, MAIN) == alone
    assert _page(project, NO_PAGE_ASIDE) == alone, "what fails aside is done again here"
    assert len(_written(project)) == SECTIONS


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="code is shown by the one process")
def test_the_code_is_made_by_the_second_process(tmp_path: Path) -> None:
    assert _page(_project(tmp_path), CODE_ASIDE_ALONE).count('<pre class="code"') == 1


def _many_chapters(folder: Path, citation: str) -> Path:
    """Four specifications of which sentences stand in several, with citations of each kind, and one more citation."""
    (folder / ".duvet").mkdir()
    sources = "".join(f'[[specification]]\nsource = "spec{number}.md"\n\n' for number in range(4))
    config = CONFIG.format(pattern="src/**/*.rs").replace('[[specification]]\nsource = "spec.md"\n\n', sources)
    (folder / ".duvet/config.toml").write_text(config, encoding="utf-8")
    (folder / "src").mkdir()
    filler = "This is known. It has been thought about.\n" * 15
    for number in range(4):
        sections = (
            f"## Part {part}\n\nIt MUST hold {part % 40}.\n{filler}\nIt MUST <b> {number} {part}.\n"
            for part in range(60)
        )
        (folder / f"spec{number}.md").write_text(f"# S{number}\n\n" + "\n".join(sections), encoding="utf-8")
        kinds = ("citation", "test", "exception", "todo", "implication")
        quotes = (
            f"//= spec{number}.md#part-{part}\n//= type={kinds[part % 5]}\n"
            f"//# It MUST hold {part % 40}.\nlet x = 'é' && {part};\n\n"
            for part in range(0, 60, 3)
        )
        (folder / f"src/s{number}.rs").write_text(
            "".join(quotes).replace("type=citation", "type=implementation"), encoding="utf-8"
        )
    (folder / "src/one.rs").write_text(citation, encoding="utf-8")
    return folder


USUAL = "//= spec3.md#part-1\n//# It MUST hold 1.\n\n//= spec0.md#part-1\n"


@pytest.mark.parametrize(
    ("citation", "is_shared"),
    [
        (USUAL, True),
        ("//= ./spec3.md#part-1\n//# It MUST hold 1.\n", False),
        ("//= spec3.md#part-1\n//= format=markdown\n", False),
    ],
    ids=["named as configured", "named otherwise", "read in another way"],
)
def test_it_makes_no_difference_who_makes_a_chapter(tmp_path: Path, citation: str, is_shared: bool) -> None:
    project = _many_chapters(tmp_path, citation)
    alone = _page(project, IN_ONE_PROCESS)
    assert alone.count('class="spec"') >= 4
    assert _page(project, MAIN) == alone
    assert _page(project, NO_PAGE_ASIDE) == alone, "what fails aside is done again here"
    made = _page(project, NO_LAST_CHAPTERS)
    assert (made != alone) == (is_shared and hasattr(os, "memfd_create")), "chapters are made aside where they can be"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is done aside")
def test_a_command_whose_files_could_not_be_written_does_not_end_well(tmp_path: Path) -> None:
    done = _duvet(_project(tmp_path), "report", program=KILLED_ASIDE)
    assert done.returncode == -signal.SIGKILL, "who writes them again meets the same end"


def test_a_specification_that_is_missing_keeps_all_files_from_being_written(tmp_path: Path) -> None:
    project = _project(tmp_path)
    config = project / ".duvet/config.toml"
    more = '[[specification]]\nsource = "other.md"\n\n[report.html]'
    config.write_text(config.read_text(encoding="utf-8").replace("[report.html]", more), encoding="utf-8")
    done = _duvet(project, "report")
    assert done.returncode == 1
    assert "other.md does not exist" in done.stderr
    assert _written(project) == {}


def test_requirements_of_another_text_are_not_taken_over(tmp_path: Path) -> None:
    project = TracedProject(
        ProjectFiles(_project(tmp_path)), TraceSettings(specifications=(SpecificationSource("spec.md"),))
    )
    target = Target("spec.md")
    specification = project.specification(target)
    assert isinstance(specification, Specification)
    sent = second_process._plain_of(specification, project.extract())
    files = SecondProcess(project, write=True)  # not entered: nothing is forked, and what was sent is given here
    files._sent = {("spec.md", "auto"): (sent[0], sent[1][:1])}
    assert len(files._received(target, specification)) == 1, "these were sent for this text"
    files._sent = {("spec.md", "auto"): (sent[0] + 1, sent[1][:1])}
    assert len(files._received(target, specification)) == SECTIONS
    files.finish()
    assert len(_written(tmp_path)) == SECTIONS
