"""The type of a file, chosen by its path, and the metadata in its front matter.

Conventional directories decide first: `docs` contains documents (but not the source files in it), `tests` tests, `src`
code. Elsewhere the name of the file decides. In a folder called `spec`, code files are tests and prose files are documents.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from contextive.knowledge.artifact import ArtifactType
from contextive.knowledge.languages import language_of
from contextive.notes.front_matter import parse_front_matter, text_value, text_values

_PROSE: Final = frozenset({"md", "markdown", "mdx", "rst", "txt", "adoc", "asciidoc", "org"})
_CONFIG: Final = frozenset(
    {
        "yml", "yaml", "json", "json5", "jsonc", "ini", "cfg", "conf", "toml", "properties", "editorconfig", "env", "lock",
        "tf", "hcl", "plist", "xml", "mk", "cmake", "gradle", "bazel", "bzl", "example", "csproj", "sln", "nix",
    }
)  # fmt: skip
_SOURCE: Final = frozenset(
    {
        "py", "pyi", "pyx", "ts", "cts", "mts", "tsx", "js", "jsx", "mjs", "cjs", "go", "rs", "java", "c", "h", "cc", "cpp",
        "cxx", "hpp", "hh", "hxx", "m", "mm", "cs", "fs", "vb", "kt", "kts", "scala", "groovy", "swift", "rb", "php", "pl", "pm",
        "lua", "r", "jl", "dart", "ex", "exs", "erl", "hrl", "hs", "elm", "ml", "mli", "clj", "cljs", "cljc", "lisp", "el", "scm",
        "sh", "bash", "zsh", "fish", "ps1", "bat", "cmd", "sql", "vue", "svelte", "html", "htm", "css", "scss", "sass", "less",
        "graphql", "gql", "zig", "nim", "v", "sv", "vhd", "vhdl", "asm", "s", "f90", "f", "sol", "thrift", "avsc", "ipynb",
    }
)  # fmt: skip
_CONFIG_NAMES: Final = frozenset(
    {
        "dockerfile", "containerfile", "makefile", "gnumakefile", "justfile", "rakefile", "gemfile", "procfile", "vagrantfile",
        "jenkinsfile", "brewfile", "cmakelists.txt", "pipfile", "go.mod", "go.sum", "build", "workspace", "codeowners",
        "manifest.in", "robots.txt", ".gitignore", ".gitattributes", ".dockerignore", ".contextiveignore", ".gitmodules",
    }
)  # fmt: skip
_PROSE_NAMES: Final = frozenset(
    {
        "readme",
        "license",
        "licence",
        "copying",
        "notice",
        "authors",
        "contributors",
        "changelog",
        "changes",
        "news",
        "todo",
    }
)
_REQUIREMENTS: Final = re.compile(r"(?=[\w.-]*\.txt\Z)(?:(?:.*-)?requirements|constraints).*")
DOC_FOLDERS: Final = frozenset({"docs", "doc"})
TEST_FOLDERS: Final = frozenset({"tests", "test", "__tests__", "testdata", "e2e"})
_CODE_TEST_FOLDERS: Final = frozenset({"spec", "specs", "testing"})
_TEST_NAME: Final = re.compile(
    r"""test_[^/]*\.(?:pyi?|c|cc|cpp|cxx|rb|php|sh|jl|lua)
      | [^/]*_test\.(?:pyi?|go|rs|c|cc|cpp|cxx|dart|exs|rb|sh|jl|ts|js)
      | [^/]*_unittest\.(?:c|cc|cpp|cxx|py)
      | [^/]*_spec\.(?:rb|lua|js|ts)
      | [^/]*[.-](?:test|spec|e2e)\.(?:[cm]?[jt]s|[jt]sx|vue|svelte)
      | (?:[^/]*[a-z0-9])?Tests?\.(?:java|kt|scala|groovy|cs|fs|swift|php)
      | Test[A-Z][^/]*\.(?:java|kt|scala|groovy|cs)
      | tests?\.rs
      | conftest\.py""",
    re.VERBOSE,
)
_GENERATED = "_generated"
_MAX_TITLE = 200
_MAX_LINES = 400
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_ATX = re.compile(r" {0,3}#{1,6}[ \t]++(.*)\Z")
_ASCIIDOC = re.compile(r"=[ \t]++(.+)\Z")
_RULE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}[ \t]*\Z")
_INLINE = re.compile(r"\[([^\[\]]*)\]\([^()]*\)|[`*]+|<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Classification:
    """The metadata of a file from its path and its first lines."""

    artifact_type: ArtifactType
    namespace: str
    title: str
    subsystem: str | None = None
    """The subsystem that the file itself names."""
    tags: tuple[str, ...] = ()
    """The tags that the file itself names."""


##= docs/spec/knowledge.md#file-metadata
##% The title, subsystem and tags in a document's front matter MUST take precedence over those derived from its path.
def classify(path: str, text: str = "") -> Classification:
    """The type, namespace and title of a file. Front matter takes precedence over the path."""
    front: Mapping[str, Any] = {}
    body = text
    if is_prose(path):
        found = parse_front_matter(text)
        front, body = found.values, text[found.length :]
    title = text_value(front, "title") or (first_heading(body) if is_prose(path) else None) or path.rpartition("/")[2]
    return Classification(
        artifact_type=artifact_type_of(path),
        namespace=namespace_of(path),
        title=title[:_MAX_TITLE],
        subsystem=text_value(front, "subsystem")[:_MAX_TITLE] or None,
        tags=tuple(tag[:_MAX_TITLE] for tag in text_values(front, "tags")[:100]),
    )


##= docs/spec/knowledge.md#file-metadata
##% Each file MUST have one of the types `doc`, `code`, `test`, `proto`, `config` and `other`, chosen by its path.
def artifact_type_of(path: str) -> ArtifactType:
    """The type of a file, chosen by its path."""
    *folders, name = path.split("/")
    ending = _ending(name)
    first = folders[0].lower() if folders else ""
    lowered = {folder.lower() for folder in folders}
    if ending == "proto":
        return "proto"
    if first in DOC_FOLDERS and language_of(path) is None:
        return "doc"
    if not lowered.isdisjoint(TEST_FOLDERS) or _TEST_NAME.fullmatch(name):
        return "test"
    if not lowered.isdisjoint(_CODE_TEST_FOLDERS) and ending in _SOURCE:
        return "test"
    if _GENERATED in folders:
        return "proto"
    if is_prose(path):
        return "doc"
    if first == "src":
        return "code"
    if _is_config(name, ending):
        return "config"
    return "code" if ending in _SOURCE else "other"


def is_test_module(path: str) -> bool:
    """Whether a file is a test by its name, and not only something that tests use."""
    folder, _, name = path.rpartition("/")
    is_named = _TEST_NAME.fullmatch(name) is not None and name != "conftest.py"
    return is_named or (name.endswith(".rs") and folder.rpartition("/")[2] in TEST_FOLDERS)


@lru_cache(maxsize=8192)
def is_test_path(path: str) -> bool:
    """Whether the file at this path is a test."""
    return artifact_type_of(path) == "test"


def namespace_of(path: str) -> str:
    """The first part of a path, or the next one for paths below `src`."""
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else parts[0]


def is_prose(path: str) -> bool:
    """Whether a file is written for people to read."""
    name = path.rpartition("/")[2]
    lowered = name.lower()
    if lowered in _CONFIG_NAMES or _REQUIREMENTS.fullmatch(lowered):
        return False
    return _ending(name) in _PROSE or lowered in _PROSE_NAMES


def first_heading(text: str) -> str | None:
    """The first heading of a document, in Markdown, reStructuredText or AsciiDoc."""
    before, fenced, marked = "", False, False
    for line in _first_lines(text):
        if _FENCE.match(line):
            fenced, before = not fenced, ""
            continue
        if fenced:
            continue
        if found := _ATX.match(line):
            title = _plain_title(found[1].rstrip(" \t").rstrip("#"))
        else:
            title = _plain_title(found[1]) if (found := _ASCIIDOC.match(line)) else ""
        if title:
            return title
        is_rule = _RULE.match(line) is not None
        if is_rule and before and not before.startswith((" ", "\t", "-", "*", ">", "|", "..")):
            # A rule below a single line makes that line a heading. Below several lines it ends a paragraph.
            if title := _plain_title(before):
                return title
        elif not is_rule:
            marked = bool(before) or (marked and bool(line.strip()))
            before = "" if marked else line.rstrip()
            continue
        before = ""
    return None


def _first_lines(text: str) -> list[str]:
    return text[: _MAX_LINES * 200].split("\n", _MAX_LINES)[:_MAX_LINES]


def _plain_title(title: str) -> str:
    title = _INLINE.sub(lambda found: found[1] or "", title[: 4 * _MAX_TITLE])
    return " ".join("".join(c if c.isprintable() else " " for c in title).split())[:_MAX_TITLE]


def _ending(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    return ending.lower() if dot and stem else ""


def _is_config(name: str, ending: str) -> bool:
    lowered = name.lower()
    if lowered in _CONFIG_NAMES or ending in _CONFIG or _REQUIREMENTS.fullmatch(lowered):
        return True
    # Files such as .eslintrc and .prettierrc; Dockerfile.dev and Makefile.am.
    return (lowered.startswith(".") and lowered.endswith("rc")) or lowered.partition(".")[0] in (
        "dockerfile",
        "makefile",
    )
