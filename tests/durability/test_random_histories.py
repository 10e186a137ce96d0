"""After random edits, renames, deletes, checkouts and clock jumps, the index equals a fresh one.

Results of tools are compared with a simple model in memory. `tests/packs/knowledge/test_incremental.py` tests
sequences of edits; this test adds the model, wrong file times, and a branch that changes many files at once.
`DURABILITY=full` uses a thousand files and longer histories.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from time import sleep
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from contextive.cli.call import call_tool
from contextive.config import ConfigRequest, load_config
from contextive.ingest.settings import IngestRequest
from contextive.ingest.verification import verify_index
from contextive.packs import BUILTIN
from contextive.search.index import Index
from contextive.server.host import Host
from tests.packs.knowledge.repository import run_git
from tests.packs.knowledge.snapshots import rows_of

FULL = os.environ.get("DURABILITY") == "full"
BULK = 1000 if FULL else 40
EXAMPLES, STEPS = (12, 40) if FULL else (3, 14)
WORDS = ("zeppelin", "elephant", "mountain")
"""All have the same length, so that replacing one by another does not change the size of a file."""
SPEC = "docs/spec/levels.md"
REQUIREMENTS = (1, 2, 3)
NOTES = ("ada", "bert", "cleo")
PATHS = (*(f"notes/{note}.md" for note in NOTES), "src/one.py", "src/two.py", "docs/page.md", "docs/other.md")
LONG_AGO, FAR_AHEAD = 915_148_800_000_000_000, 2_524_608_000_000_000_000

_SETTLED_SECONDS = 0.15
"""How long after a change the index trusts the times of a file."""

paths = st.sampled_from(PATHS)
words = st.sampled_from(WORDS)


def must(number: int) -> str:
    return f"The station MUST do thing number {number}."


def compose(path: str, word: str, links: list[str], cited: list[int]) -> str:
    """The text of a file with a word, and with links to notes or citations of requirements, depending on its type."""
    if path.endswith(".py"):
        comments = "".join(f"#= {SPEC}#r{number}\n#% {must(number)}\n" for number in cited)
        return f"{comments}def do_{word}():\n    return '{word}'\n"
    return f"# {Path(path).stem.title()}\n\nA {word}." + "".join(f" See [[{note}]]." for note in links) + "\n"


class History(RuleBasedStateMachine):
    """A project, its index, and a dictionary with the expected content of the files."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp()) / "project"
        self.root.mkdir()
        self.files: dict[str, str] = {}
        self.branches: dict[str, dict[str, str]] = {}
        self.branch = "main"
        self.host: Host | None = None

    @initialize()
    def begin(self) -> None:
        run_git(self.root, "init", "-q", "-b", "main")
        main = {f"docs/bulk/f{number}.md": f"# File {number}\n\nA {WORDS[number % 2]}.\n" for number in range(BULK)}
        other = {
            (path if number % 5 else path.replace("/f", "/moved")): text if number % 3 else text.replace("A ", "No ")
            for number, (path, text) in enumerate(main.items())
            if number % 7
        }
        self.branches = {"main": main, "other": other}
        self._commit(main)
        run_git(self.root, "checkout", "-q", "-b", "other")
        shutil.rmtree(self.root / "docs/bulk")
        self._commit(other)
        run_git(self.root, "checkout", "-q", "main")
        self.files |= main
        self._write(SPEC, "# Levels\n" + "".join(f"\n## R{number}\n\n{must(number)}\n" for number in REQUIREMENTS))
        self.host = self._open(".contextive")

    def _commit(self, files: dict[str, str]) -> None:
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text, encoding="utf-8")
        run_git(self.root, "add", "-A", "docs/bulk")
        run_git(self.root, "commit", "-q", "-m", "Files")

    def _open(self, state: str) -> Host:
        request = ConfigRequest(
            project=self.root,
            builtin_packs=frozenset(BUILTIN),
            environ={"CONTEXTIVE_STORE__STATE_PATH": state, "CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none"},
        )
        return Host(load_config(request), mode="in-process")

    def teardown(self) -> None:
        if self.host is not None:
            self._compare_with_a_fresh_index()
            self.host.close()
        shutil.rmtree(self.root.parent)

    # Changes of files

    def _write(self, path: str, text: str) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        self.files[path] = text
        return target

    @rule(
        path=paths,
        word=words,
        links=st.lists(st.sampled_from(NOTES), max_size=2),
        cited=st.lists(st.sampled_from(REQUIREMENTS), max_size=2, unique=True),
        time=st.sampled_from([None, LONG_AGO, FAR_AHEAD]),
    )
    def write(self, path: str, word: str, links: list[str], cited: list[int], time: int | None) -> None:
        """Write a file, perhaps with a wrong modification time."""
        target = self._write(path, compose(path, word, links, cited))
        if time is not None:
            os.utime(target, ns=(time, time))

    @rule(number=st.integers(0, len(PATHS)), word=words)
    def edit_without_a_trace(self, number: int, word: str) -> None:
        """Change the content in place, with the same size and the times that the file had when it was indexed."""
        existing = [path for path in PATHS if path in self.files] or [PATHS[0]]
        path = existing[number % len(existing)]
        if path not in self.files:
            self._write(path, compose(path, WORDS[0], [], []))
        sleep(_SETTLED_SECONDS)
        self.ingest()
        before = (self.root / path).stat()
        text = re.sub("|".join(WORDS), word, self.files[path])
        assert len(text) == len(self.files[path])
        target = self._write(path, text)
        os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.search(word)

    @rule(path=paths)
    def delete(self, path: str) -> None:
        if self.files.pop(path, None) is not None:
            (self.root / path).unlink()

    @rule(path=paths, to=paths)
    def rename(self, path: str, to: str) -> None:
        if path in self.files and path != to and Path(path).suffix == Path(to).suffix:
            (self.root / to).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).replace(self.root / to)
            self.files[to] = self.files.pop(path)

    @rule()
    def check_out_the_other_branch(self) -> None:
        for path in self.branches[self.branch]:
            self.files.pop(path)
        self.branch = "other" if self.branch == "main" else "main"
        run_git(self.root, "checkout", "-q", self.branch)
        self.files |= self.branches[self.branch]

    @rule(kept=st.lists(st.sampled_from(REQUIREMENTS), unique=True))
    def change_the_specification(self, kept: list[int]) -> None:
        self._write(SPEC, "# Levels\n" + "".join(f"\n## R{number}\n\n{must(number)}\n" for number in sorted(kept)))

    # Calls

    def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        assert self.host is not None
        result: dict[str, Any] = call_tool(self.host, tool, arguments)
        return result

    @rule(word=words)
    def search(self, word: str) -> None:
        """Every result contains the word; if only few files do, all of them are results."""
        expected = {path for path, text in self.files.items() if word in text}
        found = {r["chunk"]["artifact_path"] for r in self._call("km-search", query=word, limit=25)["results"]}
        assert found <= expected
        assert found == expected or len(found) >= 20

    @precondition(lambda self: self.host is not None)
    @invariant()
    def notes_are_those_of_the_model(self) -> None:
        notes = {Path(path).stem: text for path, text in self.files.items() if path.startswith("notes/")}
        # The slug of a note comes from its heading, which a renamed file keeps.
        titles = {stem: text.split("\n")[0].removeprefix("# ").lower() for stem, text in notes.items()}
        listed = {page["slug"] for page in self._call("list_pages")["pages"]}
        assert len(listed) == len(notes)
        for stem, text in notes.items():
            if list(titles.values()).count(titles[stem]) == 1 and stem == titles[stem]:
                page = self._call("get_page", slug=stem)
                assert page["content"] == text

    @precondition(lambda self: self.host is not None)
    @invariant()
    def requirements_are_those_of_the_model(self) -> None:
        stated = {number for number in REQUIREMENTS if must(number) in self.files[SPEC]}
        code = "".join(text for path, text in self.files.items() if path.endswith(".py"))
        listed = self._call("list_uncited_requirements")["result"]
        uncited = {number for number in stated if f"#% {must(number)}\n" not in code}
        assert {requirement["text"] for requirement in listed} == {must(number) for number in uncited}

    @rule()
    def ingest(self) -> None:
        assert self.host is not None
        self.host.services.get(Index).ingest(IngestRequest())

    def _compare_with_a_fresh_index(self) -> None:
        assert self.host is not None
        index = self.host.services.get(Index)
        index.ingest(IngestRequest())
        assert {row.artifact.path for row in index.store.files.artifacts()} == set(self.files)
        assert list(verify_index(index.indexer(), index.store)) == []
        fresh = self._open(".fresh")
        try:
            other = fresh.services.get(Index)
            other.ingest(IngestRequest())
            incremental_rows, fresh_rows = rows_of(index.store), rows_of(other.store)
            for kind, rows in incremental_rows.items():
                assert rows == fresh_rows[kind], kind
        finally:
            fresh.close()


TestHistory = History.TestCase
TestHistory.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
