"""After any edits in any order, a long-running service gives the same answer as a new one."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from contextive.errors import ConfigError
from contextive.ingest.trace_service import TraceService
from tests.ingest.projects import BOIL, BREW, COFFEE, CONFIG, MILK, TEA, WARM, Project, cite, view_to_dict

SPECIFICATIONS = ["specs/coffee.md", "specs/tea.md", "docs/spec/pot.txt", "a.requirements.md", ".duvet/todos/coffee.md"]
SOURCES = ["src/a.rs", "src/deep/b.rs", "tests/c.rs", "d.py", "vendor/e.rs", "src/f.c"]
TOMLS = [".duvet/todos/x.toml", ".duvet/exceptions/y.toml", ".duvet/requirements/specs/coffee/brewing.toml"]
FOLDERS = ["src", "src/deep", "specs", "tests"]
COMMENT_STYLES = [("//=", "//#"), ("#=", "#%"), ("##=", "##%"), ("*=", "*#")]
QUOTES = [BREW, WARM, MILK, BOIL, "The pot", "A cup MAY  hold\tmilk", "The pot MUST brew coffeX.", "nowhere", ""]
TARGETS = [
    "specs/coffee.md#brewing",
    "specs/coffee.md#serving",
    "./specs/coffee.md#brewing",
    "specs/tea.md#steeping",
    "coffee.md#brewing",
    "docs/spec/pot.txt#1",
    "https://example.org/tea#steeping",
    "https://[bad#x",
    "gone.md#x",
    "specs/coffee.md",
]
META = [
    "type=test",
    "type=todo",
    "type=exception",
    "reason=because",
    "type=nonsense",
    "format=markdown",
    "format=ietf",
    "level=MAY",
]

paragraphs = st.lists(
    st.sampled_from([BREW, WARM, MILK, BOIL, "Nothing here.", "- It MUST. And SHOULD.", ""]), max_size=4
)
markdown = st.lists(
    st.tuples(st.sampled_from(["# Coffee", "## Brewing", "## Serving", "## Steeping", "Brewing\n---"]), paragraphs),
    max_size=4,
).map(lambda parts: "\n\n".join(f"{title}\n\n" + "\n".join(body) for title, body in parts))
specification_texts = st.one_of(st.sampled_from([COFFEE, TEA, "", "1.  Pot\n\n   A pot MUST x.\n"]), markdown)
citations = st.builds(
    lambda target, quote, meta, style: cite(target, quote, *meta, style=style),
    st.sampled_from(TARGETS),
    st.sampled_from(QUOTES),
    st.lists(st.sampled_from(META), max_size=2),
    st.sampled_from(COMMENT_STYLES),
)
source_texts = st.lists(st.one_of(citations, st.just("fn x() {}\n\n")), max_size=4).map("".join)
toml_texts = st.one_of(
    st.sampled_from(["", "[[", "x = 1"]),
    st.builds(
        lambda kind, target, quote: f'target = "{target}"\n[[{kind}]]\nquote = "{quote}"\nreason = "x"\n',
        st.sampled_from(["todo", "exception", "spec"]),
        st.sampled_from(TARGETS),
        st.sampled_from([BREW, WARM, MILK, BOIL, "nowhere"]),
    ),
    st.just(f'target = "specs/coffee.md#brewing"\n[[spec]]\nlevel = "MUST"\nquote = "{WARM}"\n'),
)
SCHEMA = CONFIG.partition("\n")[0] + "\n"
source_blocks = st.builds(
    lambda pattern, style, kind: (
        f'[[source]]\npattern = "{pattern}"\ntype = "{kind}"\ncomment-style = {{ meta = "{style[0]}", content = "{style[1]}" }}\n'
    ),
    st.sampled_from(["src/**/*.rs", "**/*.rs", "*.py", "tests/*.rs", "src/*.[ch]", "../**/*.rs"]),
    st.sampled_from(COMMENT_STYLES),
    st.sampled_from(["implementation", "test", "todo"]),
)
specification_blocks = st.builds(
    lambda source, form: f'[[specification]]\nsource = "{source}"\n{form}',
    st.sampled_from(["specs/coffee.md", "specs/tea.md", "docs/spec/pot.txt", "https://example.org/tea", "gone.md"]),
    st.sampled_from(["", 'format = "markdown"\n', 'format = "ietf"\n']),
)
configurations = st.one_of(
    st.sampled_from([CONFIG, SCHEMA, "[", SCHEMA + "x = 1", SCHEMA + '[[source]]\npattern = "[a"\n']),
    st.lists(st.one_of(source_blocks, specification_blocks), max_size=4).map(lambda blocks: SCHEMA + "".join(blocks)),
)


def view_or_error(service: TraceService) -> dict[str, Any] | str:
    try:
        return view_to_dict(service.view())
    except ConfigError as error:
        return error.full_message()


class Edits(RuleBasedStateMachine):
    """A project directory, a service that runs from the start, and edits."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="edits-"))
        self.project = Project(self.folder / "project")
        self.project.root.mkdir()
        self.project.write("specs/coffee.md", COFFEE)
        self.service = self.project.service()

    def teardown(self) -> None:
        try:
            self.check_view()
        finally:
            shutil.rmtree(self.folder)

    def _files(self) -> list[str]:
        root = self.project.root
        return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())

    def _write(self, path: str, content: str | bytes) -> None:
        """Links may be broken or circular. Then the write fails, and nothing is changed."""
        with contextlib.suppress(OSError):
            self.project.write(path, content)

    @rule(path=st.sampled_from(SPECIFICATIONS), text=specification_texts)
    def write_specification(self, path: str, text: str) -> None:
        self._write(path, text)

    @rule(text=specification_texts)
    def store_url(self, text: str) -> None:
        self._write(".duvet/specifications/example.org/tea.txt", text)

    @rule(path=st.sampled_from(SOURCES), text=source_texts)
    def write_source(self, path: str, text: str) -> None:
        self._write(path, text)

    @rule(path=st.sampled_from(TOMLS), text=toml_texts)
    def write_toml(self, path: str, text: str) -> None:
        self._write(path, text)

    @rule(text=configurations)
    def write_configuration(self, text: str) -> None:
        self._write(".duvet/config.toml", text)

    @rule(path=st.sampled_from(SOURCES + SPECIFICATIONS[:3]))
    def write_nonsense(self, path: str) -> None:
        self._write(path, b"\xff\xfe")

    @precondition(lambda self: self._files())
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(self._files()))
        with contextlib.suppress(OSError):
            self.project.remove(chosen)

    @precondition(lambda self: self._files())
    @rule(data=st.data(), goal=st.sampled_from([*SOURCES, *SPECIFICATIONS, *TOMLS]))
    def rename(self, data: st.DataObject, goal: str) -> None:
        chosen, target = data.draw(st.sampled_from(self._files())), self.project.root / goal
        with contextlib.suppress(OSError):
            target.parent.mkdir(parents=True, exist_ok=True)
            (self.project.root / chosen).replace(target)

    @precondition(lambda self: self._files())
    @rule(data=st.data(), goal=st.sampled_from(SOURCES + SPECIFICATIONS[:3]), hard=st.booleans())
    def link_file(self, data: st.DataObject, goal: str, hard: bool) -> None:
        file, link = self.project.root / data.draw(st.sampled_from(self._files())), self.project.root / goal
        with contextlib.suppress(OSError):
            link.parent.mkdir(parents=True, exist_ok=True)
            if hard:
                link.hardlink_to(file.resolve())
            else:
                link.symlink_to(file)

    @rule(name=st.sampled_from(FOLDERS), to=st.sampled_from([*FOLDERS, "src/moved", "../outside"]))
    def move_folder(self, name: str, to: str) -> None:
        with contextlib.suppress(OSError):
            (self.project.root / name).rename(self.project.root / to)

    @rule(name=st.sampled_from(FOLDERS), to=st.sampled_from([*FOLDERS, "../outside"]))
    def link_folder(self, name: str, to: str) -> None:
        with contextlib.suppress(OSError):
            (self.project.root / name).symlink_to(self.project.root / to)

    @rule(name=st.sampled_from(FOLDERS))
    def remove_folder(self, name: str) -> None:
        folder = self.project.root / name
        if folder.is_symlink():
            folder.unlink()
        elif folder.is_dir():
            shutil.rmtree(folder)

    @rule(name=st.sampled_from(["a.rs", "b.rs", "coffee.md"]), text=source_texts)
    def write_outside(self, name: str, text: str) -> None:
        with contextlib.suppress(OSError):
            (self.folder / "outside" / name).write_text(text, encoding="utf-8")

    @rule()
    def check_view(self) -> None:
        """Runs between some of the edits, not between all."""
        view = view_or_error(self.service)
        assert view == view_or_error(self.project.service())
        if isinstance(view, dict):
            assert self.service.view() is self.service.view()


Edits.TestCase.settings = settings(max_examples=100, stateful_step_count=15, deadline=None)
TestAnyEdits = Edits.TestCase
