"""Code conventions: short files, no swallowed exceptions, explicit encodings, no paths of one machine."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from .source_tree import Module, python_files, relative_path, source_modules, texts, written_by_hand

MAX_LINES = 500
OUTERMOST = Counter(
    {
        "src/contextive/ingest/parser_pool.py:_read_answers": 1,
        "src/contextive/registry/dispatch.py:_run_handler": 1,
        "src/contextive/registry/plugins.py:_import_pack": 1,
        "src/contextive/registry/threads.py:job": 1,
        "src/contextive/search/watcher.py:_index_loop": 1,
        "src/contextive/server/guard.py:__call__": 1,
        "src/contextive/server/protocol.py:__call__": 1,
    }
)
"""The functions that may catch every exception: each logs or reports it and answers without internal details.

The job of a worker thread also catches all, to raise the exception again in the calling thread.
"""

# Assembled from parts so that these rules do not match their own source.
_MACHINE = re.compile(r"(?<![\w.])/(?:" + "|".join(("work", "root")) + r")/")
_HOME = re.compile(r"(?<![\w.])/(?:" + "|".join(("home", "Users")) + r")/")
_REGISTRY = re.compile(
    r"https?://[^/\s\"'<>]*(?:" + "|".join(("py" + "pi", "pythonhost" + "ed", "npm" + "js", "artifact" + "ory", "jfr" + "og",
    "devpi", "yarn" + "pkg", "crates" + r"\.io", "registry" + r"\.", "mirror")) + r")[^/\s\"'<>]*", re.IGNORECASE,
)  # fmt: skip
_LEFTOVER = re.compile(r"^#+\s*(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")
_LEFTOVER_IN_PROSE = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME)\b:")
_TEXT_MODE = re.compile(r"^[rwax]\+?t?\+?$")


def _lines_matching(pattern: re.Pattern[str], *, generated: bool = True) -> list[str]:
    return [
        f"{relative_path(path)}:{number}: {line.strip()[:100]}"
        for path, text in texts()
        if generated or written_by_hand(path)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_file_contains_a_path_of_one_machine() -> None:
    assert _lines_matching(_MACHINE) == []
    # Tests may use invented home directories.
    assert [line for line in _lines_matching(_HOME) if not line.startswith("tests/")] == []


def test_no_file_contains_the_host_of_a_package_registry() -> None:
    assert _lines_matching(_REGISTRY) == []


REFERENCE_PAGES = {"LICENSE", "docs/cli.md", "docs/tools.md"}
"""Files that are not read from start to end."""


def test_files_are_short_enough_to_read() -> None:
    long = {
        relative_path(path): text.count("\n")
        for path, text in texts()
        if written_by_hand(path) and path.suffix != ".json"
    }
    assert {name: lines for name, lines in long.items() if lines >= MAX_LINES and name not in REFERENCE_PAGES} == {}


def _comments(path: Path) -> Iterator[tuple[int, str]]:
    source = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def test_no_comment_is_a_todo() -> None:
    left = [
        f"{relative_path(p)}:{n} {text}" for p in python_files() for n, text in _comments(p) if _LEFTOVER.match(text)
    ]
    left += [
        f"{relative_path(path)}:{number}"
        for path, text in texts()
        if path.suffix == ".md"
        for number, line in enumerate(text.splitlines(), 1)
        if _LEFTOVER_IN_PROSE.search(line)
    ]
    assert left == []


def _catches_all(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException")) for kind in kinds
    )


def _reraises(handler: ast.ExceptHandler) -> bool:
    """Whether the handler raises the exception again, for example after cleaning up."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def swallowing(module: Module) -> Iterator[str]:
    """Yield the innermost functions that catch every exception and do not raise it again."""
    waiting: list[tuple[ast.AST, str]] = [(module.tree, "module")]
    while waiting:
        node, function = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if isinstance(node, ast.ExceptHandler) and _catches_all(node) and not _reraises(node):
            yield f"{module}:{function}"
        waiting += [(child, function) for child in ast.iter_child_nodes(node)]


def test_only_the_outermost_handlers_catch_every_exception() -> None:
    found = Counter(place for module in source_modules() for place in swallowing(module))
    assert found == OUTERMOST, "catch the errors that you expect, or let them reach the outermost handler"


def _keywords(call: ast.Call) -> set[str | None]:
    return {keyword.arg for keyword in call.keywords}


def _literal(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _mode(call: ast.Call, position: int) -> str | None:
    mode = next((keyword.value for keyword in call.keywords if keyword.arg == "mode"), None)
    return _literal(mode or (call.args[position] if len(call.args) > position else None))


def lacks_encoding(call: ast.Call) -> bool:
    """Whether a call opens a text file without an explicit encoding."""
    if _keywords(call) & {"encoding", None}:
        return False
    match call.func:
        case ast.Name(id="open") | ast.Attribute(value=ast.Name(id="os"), attr="fdopen"):
            return "b" not in (_mode(call, 1) or "r")
        case ast.Attribute(value=ast.Name(id="os"), attr="open"):
            return False
        case ast.Attribute(attr="open"):
            return _TEXT_MODE.match(_mode(call, 0) or "") is not None
        case ast.Attribute(attr="read_text"):
            return not call.args
        case ast.Attribute(attr="write_text"):
            return len(call.args) < 2
        case _:
            return False


def test_every_text_file_is_opened_with_an_encoding() -> None:
    found = [
        f"{relative_path(path)}:{node.lineno}"
        for path in python_files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and lacks_encoding(node)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("code", "lacking"),
    [
        ("open(p)", True),
        ("open(p, 'w')", True),
        ("open(p, 'rb')", False),
        ("open(p, encoding='utf-8')", False),
        ("p.read_text()", True),
        ("p.read_text(encoding='utf-8')", False),
        ("p.write_text(x)", True),
        ("p.open('w')", True),
        ("p.open('wb')", False),
        ("os.fdopen(f, 'rb')", False),
        ("os.open(p, flags)", False),
    ],
)
def test_the_encoding_rule_distinguishes_text_from_bytes(code: str, lacking: bool) -> None:
    call = ast.parse(code, mode="eval").body
    assert isinstance(call, ast.Call)
    assert lacks_encoding(call) is lacking


@pytest.mark.parametrize(
    ("handler", "swallows"),
    [
        ("except Exception:\n  pass", True),
        ("except:\n  return 1", True),
        ("except (OSError, BaseException):\n  return 1", True),
        ("except Exception:\n  tidy()\n  raise", False),
        ("except OSError:\n  pass", False),
    ],
)
def test_the_handler_rule_distinguishes_swallowing_from_cleaning_up(handler: str, swallows: bool) -> None:
    body = "\n".join(f" {line}" for line in f"try:\n  work()\n{handler}".splitlines())
    module = Module(python_files()[0], "sample", f"def f():\n{body}")
    assert bool(list(swallowing(module))) is swallows


RENAMING_MODULES = {"contextive.workspace.audit_log", "contextive.server.tokens"}
"""Modules that rename a file in one function: to rotate a full log, and to move a damaged file out of the way."""
_FINAL_STEPS = {"replace", "rename", "renames", "link", "fsync", "fdatasync", "mkstemp", "NamedTemporaryFile"}


def writes_whole_files(module: Module) -> list[str]:
    """Return where a module itself renames, links or syncs files, or creates temporary ones."""
    found = []
    for node in ast.walk(module.tree):
        match node:
            case ast.Attribute(value=ast.Name(id="os" | "tempfile"), attr=name) if name in _FINAL_STEPS:
                found.append((node.lineno, name))
            case ast.ImportFrom(module="os" | "tempfile", names=names):
                found += [(node.lineno, alias.name) for alias in names if alias.name in _FINAL_STEPS]
            case ast.Call(func=ast.Attribute(attr="rename" | "hardlink_to" as name)):
                found.append((node.lineno, name))
            case ast.Call(
                func=ast.Attribute(attr="replace"), args=[_], keywords=[]
            ):  # the method of a path; that of a string has two arguments
                found.append((node.lineno, "replace"))
    return [f"{module}:{line} uses {name}" for line, name in found]


@pytest.mark.parametrize("module", source_modules(), ids=str)
def test_only_file_writing_and_the_store_rename_link_or_sync_files(module: Module) -> None:
    if module.name != "contextive.file_writing" and not module.name.startswith("contextive.store."):
        found = writes_whole_files(module)
        assert len(found) == (module.name in RENAMING_MODULES), f"use contextive.file_writing: {found}"


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("os.replace(a, b)", True),
        ("os.fsync(handle)", True),
        ("os.link(a, b, src_dir_fd=f)", True),
        ("from os import rename", True),
        ("tempfile.mkstemp()", True),
        ("temporary.replace(path)", True),
        ("temporary.rename(path)", True),
        ("target.hardlink_to(temporary)", True),
        ("text.replace('a', 'b')", False),
        ("replace(settings, width=1)", False),
        ("moment.replace(tzinfo=UTC)", False),
        ("os.open(path, flags)", False),
    ],
)
def test_the_writing_rule_distinguishes_files_from_strings(code: str, is_found: bool) -> None:
    assert bool(writes_whole_files(Module(python_files()[0], "sample", code))) is is_found
