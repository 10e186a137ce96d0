"""Which subsystems have no tests at all."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from contextive.knowledge.artifact import Artifact
from contextive.knowledge.classification import TEST_FOLDERS
from contextive.knowledge.exercised_symbols import is_test_symbol
from contextive.knowledge.languages import language_of, suffix_of
from contextive.knowledge.packages import last_name, outer_names
from contextive.knowledge.support_code import is_product_code, is_support_name
from contextive.knowledge.symbol import Symbol

_OTHER_PROGRAMS: Final = frozenset(
    {
        "cs", "fs", "vb", "kt", "kts", "scala", "groovy", "swift", "rb", "php", "pl", "pm", "lua", "jl", "dart", "ex", "exs",
        "erl", "hs", "elm", "ml", "clj", "cljs", "cljc", "vue", "svelte", "zig", "nim", "m", "mm", "cxx", "hxx",
    }
)  # fmt: skip
"""Suffixes of programs in languages whose symbols are unknown here."""
_TESTABLE: Final = frozenset({"function", "method"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_TEST_WORDS: Final = frozenset({"test", "tests", "spec", "specs", "unittest", "it", "e2e", "unit", "integration"})
_WHOLE_FOLDER: Final = frozenset({"index", "mod", "init", "lib", "main"})
"""Names of files that are used under the name of their folder."""
MIN_NAME: Final = 3
"""Shorter names of subsystems are found in too many names of tests."""


@dataclass(frozen=True, slots=True)
class UntestedSubsystem:
    """A subsystem whose code no test reaches."""

    name: str
    source_files: int


##= docs/spec/gateway.md#km-lifecycle-report
##% A subsystem MUST NOT be reported as untested if a test exercises or imports its code, lies in it, or is named
##% after it.
def untested_subsystems(
    artifacts: Iterable[Artifact], symbols: Mapping[str, Sequence[Symbol]], reached: Collection[str]
) -> tuple[UntestedSubsystem, ...]:
    """Subsystems of product code without a test, by name. `reached` are the files whose code tests use.

    A test of a nested subsystem counts for those around it.
    """
    sources: dict[str, int] = defaultdict(int)
    tested: set[str] = set()
    test_names: set[str] = set()
    for artifact in artifacts:
        path, name = artifact.path, artifact.subsystem
        if artifact.artifact_type == "test" and _is_program(path):
            test_names.update(names_of_test(path))
            if name:
                tested.update((name, *outer_names(name)))
        elif name and artifact.artifact_type in ("code", "proto"):
            declared = symbols.get(path, ())
            if path in reached or any(is_test_symbol(symbol.id) for symbol in declared):
                tested.update((name, *outer_names(name)))
            if _has_behaviour(path, declared):
                sources[name] += 1
    return tuple(
        UntestedSubsystem(name, count)
        for name, count in sorted(sources.items())
        if name not in tested and not is_support_name(last_name(name)) and _normal_name(name) not in test_names
    )


def names_of_test(path: str) -> Iterator[str]:
    """The names of things that a test is for: its directories below the one for tests, and the beginnings of its name.

    `tests/publish/test_cloud_run.py` is for `publish`, `cloud` and `cloud_run`.
    """
    *folders, name = path.split("/")
    top = next((at for at, folder in enumerate(folders) if folder.lower() in TEST_FOLDERS), len(folders))
    for folder in folders[top + 1 :]:
        yield "_".join(_words(folder))
    words = _words(posixpath.splitext(name)[0])
    while words and words[0] in _TEST_WORDS:
        words = words[1:]
    while words and words[-1] in _TEST_WORDS:
        words = words[:-1]
    for count in range(1, len(words) + 1):
        yield "_".join(words[:count])


def named_tests_of(path: str, tests: Iterable[str]) -> list[str]:
    """The tests whose paths say that they are for a source file, those nearest to it first.

    `tests/test_table_api.py` is for `views/table.py`, and `jwt/index.test.ts` for all files in `jwt`.
    """
    folder, _, name = path.rpartition("/")
    wanted = "_".join(_words(posixpath.splitext(name)[0]))
    if wanted in _WHOLE_FOLDER:
        wanted = "_".join(_words(folder.rpartition("/")[2]))
    found: list[tuple[bool, int, str]] = []
    for test in tests:
        if test == path or not _is_program(test):
            continue
        is_near = posixpath.dirname(test) == folder
        names = set(names_of_test(test))
        if any(name == wanted or name.endswith(f"_{wanted}") for name in names) or (
            is_near and not names.isdisjoint(_WHOLE_FOLDER)
        ):
            found.append((not is_near, -len(posixpath.commonprefix([path, test])), test))
    return [test for _, _, test in sorted(found)]


def _normal_name(subsystem: str) -> str:
    name = "_".join(_words(last_name(subsystem)))
    return name if len(name) >= MIN_NAME else ""


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _is_program(path: str) -> bool:
    return language_of(path) is not None or suffix_of(path) in _OTHER_PROGRAMS


def _has_behaviour(path: str, declared: Sequence[Symbol]) -> bool:
    """Whether a file is product code with something to test: a function, if its symbols are known."""
    if not is_product_code(path):
        return False
    if language_of(path) is None:
        return suffix_of(path) in _OTHER_PROGRAMS
    return any(symbol.kind in _TESTABLE and not is_test_symbol(symbol.id) for symbol in declared)
