"""What the lifecycle report names in real projects, and whether it names what was planted.

    python -m benchmarks.lifecycle DIR …

Each project is copied. Two findings are planted in each copy: a document that nothing links to, and in turn a document that is
behind the code it links to, or a package without tests. The first entries of the report are printed, to be judged by reading.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from contextive.config import ConfigRequest, load_config
from contextive.ingest.settings import IngestRequest
from contextive.packs import BUILTIN
from contextive.search.index import Index
from contextive.server.host import Host

FIRST: Final = 20
_OLD: Final = 400 * 86_400
"""The age in seconds of a planted document: older than any default of `knowledge.staleDays`."""
_SUFFIXES: Final = (".py", ".go", ".rs", ".ts")
_UNTESTED: Final = {
    ".py": ("quarantine/__init__.py", "", "quarantine/intake.py", "def admit_crate(crate):\n    return crate.seal\n"),
    ".go": ("quarantine/intake.go", "package quarantine\n\nfunc AdmitCrate(seal string) string {\n\treturn seal\n}\n"),
    ".ts": ("src/quarantine/intake.ts", "export function admitCrate(seal: string): string {\n  return seal\n}\n"),
    ".rs": (
        "crates/quarantine/Cargo.toml", '[package]\nname = "quarantine"\nversion = "0.1.0"\n',
        "crates/quarantine/src/lib.rs", "pub fn admit_crate(seal: &str) -> &str {\n    seal\n}\n",
    ),
}  # fmt: skip


def plant_orphan(root: Path) -> str:
    """A document without any link from or to it."""
    path = "docs/crate-quarantine.md"
    _write(root, path, "# Quarantine of crates\n\nA crate without a seal waits for a day before somebody opens it.\n")
    _commit(root, "Describe the quarantine", time.time())
    return path


def plant_stale(root: Path) -> str:
    """An old document that links to code, which changed since."""
    code = next(
        path
        for path in _sources(root)
        if "def " in _read(root, path) or "fn " in _read(root, path) or "func" in _read(root, path)
    )
    path = "docs/crate-admission.md"
    _write(root, path, f"# Admission of crates\n\nThe rules are in [the code](../{code}), and nowhere else.\n")
    _commit(root, "Describe the admission", time.time() - _OLD)
    comment = "#" if code.endswith(".py") else "//"
    added = {
        ".py": "\n\ndef readmit_crate(crate):\n    return crate\n",
        ".go": "\n\nfunc ReadmitCrate(seal string) string {\n\treturn seal\n}\n",
        ".rs": "\n\npub fn readmit_crate(seal: &str) -> &str {\n    seal\n}\n",
        ".ts": "\n\nexport function readmitCrate(seal: string): string {\n  return seal\n}\n",
    }[Path(code).suffix]
    _write(root, code, f"{_read(root, code)}{added}{comment} Seals are checked by the caller.\n")
    _commit(root, "Admit crates again", time.time())
    return path


def plant_untested(root: Path) -> str:
    """A package that no test uses."""
    suffix = Path(next(_sources(root))).suffix
    parts = iter(_UNTESTED[suffix])
    for path in parts:
        _write(root, path, next(parts))
    _commit(root, "Add the quarantine", time.time())
    return "quarantine"


def entries(report: Mapping[str, Any]) -> Iterator[str]:
    """The entries of a report in its order, as a reader sees them."""
    for label, rows in report["isolated"].items():
        for row in rows:
            yield f"isolated {label} {row['path'] or row['name']}"
    for row in report["stale_docs"]:
        yield f"stale {row['path']} ({', '.join(row['changed_code'])})"
    for row in report["missing_tests"]:
        yield f"untested {row['subsystem']} ({row['source_files']} files)"
    for row in report["symbol_test_gaps"]:
        yield f"symbol without test {row['symbol_id']} ({row['callers']} callers)"


def report_of(root: Path) -> dict[str, Any]:
    """Index a project and return its report."""
    request = ConfigRequest(
        project=root, builtin_packs=frozenset(BUILTIN), environ={"CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none"}
    )
    host = Host(load_config(request), mode="in-process")
    try:
        index = host.services.get(Index)
        index.ingest(IngestRequest())
        return dict(index.lifecycle())
    finally:
        host.close()


def _sources(root: Path) -> Iterator[str]:
    listed = subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, text=True, check=True)
    for path in listed.stdout.splitlines():
        is_product = not any(word in path.lower() for word in ("test", "example", "bench", "setup", "conf", "vendor"))
        if path.endswith(_SUFFIXES) and "/" in path and is_product and (root / path).stat().st_size > 1_000:
            yield path


def _read(root: Path, path: str) -> str:
    return (root / path).read_text(encoding="utf-8")


def _write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


def _commit(root: Path, message: str, when: float) -> None:
    stamp = f"{int(when)} +0000"
    environment = os.environ | {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
    git = ["git", "-C", str(root), "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    subprocess.run([*git, "add", "-A"], check=True, capture_output=True)
    subprocess.run([*git, "commit", "-qm", message], check=True, capture_output=True, env=environment)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("projects", nargs="+", type=Path, metavar="DIR", help="a git checkout")
    arguments = parser.parse_args()
    named = planted = 0
    for number, project in enumerate(arguments.projects):
        with tempfile.TemporaryDirectory() as scratch:
            root = Path(scratch) / project.resolve().name
            shutil.copytree(project, root, ignore=shutil.ignore_patterns(".contextive", "node_modules", "target"))
            subprocess.run(["git", "-C", str(root), "clean", "-fdxq"], check=True)
            print(f"\n{root.name}")
            print("\n".join(f"    {entry}" for entry in list(entries(report_of(root)))[:FIRST]))
            expected = [plant_orphan(root), plant_stale(root) if number % 2 else plant_untested(root)]
            found = list(entries(report_of(root)))
            for one in expected:
                is_named = any(one in entry for entry in found)
                planted += 1
                named += is_named
                print(f"    planted {one}: {'named' if is_named else 'NOT NAMED'}")
    print(f"\n{named} of {planted} planted findings named")
    return 0


if __name__ == "__main__":
    sys.exit(main())
