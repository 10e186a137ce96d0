"""Tell the code that a project ships from the code around it: examples, benchmarks, scripts, generated and foreign code."""

from __future__ import annotations

import re
from typing import Final

SUPPORT_FOLDERS: Final = frozenset(
    {
        "__generated__", "__mocks__", "_generated", "_vendor", "bench", "benches", "benchmark", "benchmarks", "demo", "demos",
        "example", "examples", "fixture", "fixtures", "fuzz", "fuzz_targets", "generated", "mocks", "node_modules",
        "playground", "playgrounds", "sample", "samples", "storybook", "testdata", "third_party", "thirdparty", "vendor",
    }
)  # fmt: skip
"""Directories of code that supports a project without being part of it, wherever they are."""
SUPPORT_TOP_FOLDERS: Final = SUPPORT_FOLDERS | {
    "build", "ci", "contrib", "dev", "devtools", "dist", "docs", "hack", "perf", "script", "scripts", "tool", "tools",
}  # fmt: skip
"""The same in the root of a project. Deeper down, the additional ones are ordinary names of packages."""
_SUPPORT_WORDS: Final = frozenset(
    {
        "bench", "benches", "benchmark", "benchmarks", "conformance", "demo", "demos", "e2e", "example", "examples", "fixture",
        "fixtures", "fuzz", "mock", "mocks", "perf", "playground", "sample", "samples", "test", "tests",
    }
)  # fmt: skip
_WORDS = re.compile(r"[A-Za-z0-9]+")
_GENERATED_NAME = re.compile(
    r""".*(?:_pb2(?:_grpc)?\.pyi?|\.pb(?:\.gw)?\.go|[._-]gen(?:erated)?\.[a-z]+|\.g\.(?:dart|cs)|\.min\.js|[.-]bundle\.m?js|-\d+\.\d[\w.]*\.js|\.d\.[cm]?ts)
      | (?:zz_generated|wire_gen|mock_)[^/]*\.go""",
    re.VERBOSE,
)
_TOOL_NAME = re.compile(
    r"""(?:setup|conf|conftest|noxfile|tasks|fabfile|manage|wsgi|asgi)\.py|build\.rs|(?:gulp|grunt)file\.[cm]?[jt]s
      | .*\.(?:config|conf|setup)\.[cm]?[jt]s|\.[\w.-]+\.[cm]?js|mage(?:file)?\.go|tools\.go
      | (?:package|module)-info\.java""",
    re.VERBOSE,
)


def is_product_code(path: str) -> bool:
    """Whether a source file is part of what the project ships, judged by its path."""
    *folders, name = path.split("/")
    lowered = [folder.lower() for folder in folders]
    if lowered and lowered[0] in SUPPORT_TOP_FOLDERS:
        return False
    if any(folder in SUPPORT_FOLDERS or is_support_name(folder) for folder in lowered):
        return False
    return not (_GENERATED_NAME.fullmatch(name) or _TOOL_NAME.fullmatch(name.lower()))


def is_support_name(name: str) -> bool:
    """Whether a directory or package is named after a kind of supporting code, as in `dns-test` or `benchmark-utils`."""
    return not _SUPPORT_WORDS.isdisjoint(_WORDS.findall(name.lower()))
