"""Sets of questions with known answers, built from public data. None of the data is part of this project.

    python -m benchmarks.public_sets cranfield DIR TARGET      cran.all.1400.xml, cran.qry.xml and cranqrel.trec.txt in DIR
    python -m benchmarks.public_sets vaswani DIR TARGET        doc-text.trec, query-text.trec and qrels in DIR
    python -m benchmarks.public_sets cosqa DIR TARGET          cosqa-retrieval-dev-500.json and -test-500.json in DIR
    python -m benchmarks.public_sets docstrings DIR TARGET     a checkout with Python code
    python -m benchmarks.public_sets headings DIR TARGET       a checkout with Markdown documents
    python -m benchmarks.public_sets commits DIR TARGET        a checkout with history: which files did a commit change?
    python -m benchmarks.public_sets citations DIR TARGET      a checkout with duvet citations: which file implements a sentence?

Each writes a project, TARGET/project, and its judgements, TARGET/judgements.jsonl, for `contextive-mcp eval`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from benchmarks.retrieval_sets import FEWEST_WORDS, first_sentence, number_headings, strip_docstrings

MOST_QUESTIONS: Final = 250
MOST_COMMITS: Final = 2_000
MOST_CHANGED: Final = 5
"""A commit that changes more files has no single place as its answer."""
CODE_ENDINGS: Final = (".py", ".rs", ".go", ".ts", ".tsx", ".js", ".java", ".c", ".h", ".cpp")
Questions = Mapping[str, Iterable[str]]
_TREC_DOCUMENT: Final = re.compile(r"<doc>\s*<docno>\s*(\d+)\s*</docno>(.*?)</doc>", re.DOTALL | re.IGNORECASE)
_TREC_QUERY: Final = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_TREC_NUMBER: Final = re.compile(r"<num>\s*(\d+)")
_PROSE: Final = re.compile(r"<(title|text)>(.*?)</\1>", re.DOTALL)
_CITATION: Final = re.compile(r"^[ \t]*(//|#|--)[ ]?(=|#)[ ]?(.*)$")
_NO_CHANGE_OF_CODE: Final = re.compile(r"^(merge|revert|bump|release|chore|ci|build|prepare)\b", re.IGNORECASE)


def build_cranfield(source: Path, project: Path) -> Questions:
    """Abstracts as documents. The numbers in the judgements are positions of queries, not their own numbers."""
    documents = _TREC_DOCUMENT.findall((source / "cran.all.1400.xml").read_text(encoding="utf-8"))
    for number, content in documents:
        parts = dict(_PROSE.findall(content))
        title, text = (" ".join(parts.get(name, "").split("\n")).strip() for name in ("title", "text"))
        _write(project / f"docs/{number}.md", f"# {title}\n\n{text.removeprefix(title).strip()}\n")
    queries = _TREC_QUERY.findall((source / "cran.qry.xml").read_text(encoding="utf-8"))
    rows = [line.split() for line in (source / "cranqrel.trec.txt").read_text(encoding="utf-8").splitlines()]
    found: dict[str, list[str]] = {}
    for query, _, document, grade in (row for row in rows if len(row) == 4):
        if int(grade) > 0:
            found.setdefault(_one_line(queries[int(query) - 1]), []).append(f"docs/{document}.md")
    return found


def build_vaswani(source: Path, project: Path) -> Questions:
    """Abstracts without titles."""
    for number, content in _TREC_DOCUMENT.findall((source / "doc-text.trec").read_text(encoding="utf-8")):
        _write(project / f"docs/{number}.md", " ".join(content.split()) + "\n")
    text = (source / "query-text.trec").read_text(encoding="utf-8")
    queries = dict(zip(_TREC_NUMBER.findall(text), map(_one_line, _TREC_QUERY.findall(text)), strict=True))
    found: dict[str, list[str]] = {}
    for line in (source / "qrels").read_text(encoding="utf-8").splitlines():
        query, _, document, grade = line.split()
        if int(grade) > 0:
            found.setdefault(queries[query].lower(), []).append(f"docs/{document}.md")
    return found


def build_cosqa(source: Path, project: Path) -> Questions:
    """Web questions, each with a function that answers it."""
    found: dict[str, list[str]] = {}
    paths: dict[str, str] = {}
    for name in ("dev", "test"):
        for item in json.loads((source / f"cosqa-retrieval-{name}-500.json").read_text(encoding="utf-8")):
            path = paths.setdefault(item["code"], f"src/f{len(paths)}.py")
            _write(project / path, item["code"] + "\n")
            found.setdefault(_one_line(item["doc"]), []).append(path)
    return found


def build_docstrings(source: Path, project: Path) -> Questions:
    """The first sentence of a docstring, and the function that it was removed from."""
    found: dict[str, list[str]] = {}
    for path in sorted(source.rglob("*.py")):
        relative = path.relative_to(source).as_posix()
        try:
            stripped, docstrings = strip_docstrings(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        _write(project / relative, stripped)
        if not re.search(r"(^|/)tests?/|test_|_test\.", relative):
            for name, text in docstrings.items():
                sentence = first_sentence(text)
                if len(sentence.split()) >= FEWEST_WORDS:
                    found.setdefault(sentence, []).append(f"{relative}::{name}")
    return found


def build_headings(source: Path, project: Path) -> Questions:
    """A heading with its parent, and the section, in documents with numbers as headings."""
    found: dict[str, list[str]] = {}
    for path in sorted(source.rglob("*.md")):
        relative = path.relative_to(source).as_posix()
        numbered, headings = number_headings(path.read_text(encoding="utf-8", errors="replace"))
        _write(project / relative, numbered)
        for number, heading in headings.items():
            found.setdefault(heading, []).append(f"{relative}#{number}")
    return {heading: places for heading, places in found.items() if len(places) == 1}


def build_commits(source: Path, project: Path) -> Questions:
    """The subject of a commit, and the files of today that it changed."""
    shutil.copytree(source, project, ignore=shutil.ignore_patterns(".git", ".contextive"), dirs_exist_ok=True)
    arguments = ["log", "--no-merges", f"--max-count={MOST_COMMITS}", "--format=%x00%s", "--name-only"]
    log = subprocess.run(["git", "-C", str(source), *arguments], check=True, capture_output=True, text=True).stdout
    found: dict[str, list[str]] = {}
    for entry in log.split("\0")[1:]:
        subject, *changed = [line for line in entry.split("\n") if line]
        kept = [path for path in changed if path.endswith(CODE_ENDINGS) and (project / path).is_file()]
        is_question = len(subject.split()) >= FEWEST_WORDS and not _NO_CHANGE_OF_CODE.match(subject)
        if is_question and kept and len(changed) <= MOST_CHANGED:
            found.setdefault(re.sub(r"\s*\(#\d+\)$", "", subject), kept)
    return found


def build_citations(source: Path, project: Path) -> Questions:
    """A quoted sentence of a specification, and the files that cite it, in code without citations."""
    found: dict[str, list[str]] = {}
    for path in sorted(path for path in source.rglob("*") if path.suffix in CODE_ENDINGS and path.is_file()):
        relative = path.relative_to(source).as_posix()
        kept: list[str] = []
        for line, quote in _quotes(path.read_text(encoding="utf-8", errors="replace").splitlines()):
            if line is not None:
                kept.append(line)
            elif len(quote.split()) >= FEWEST_WORDS and relative not in found.setdefault(quote, []):
                found[quote].append(relative)
        _write(project / relative, "\n".join(kept) + "\n")
    return found


def _quotes(lines: Iterable[str]) -> Iterator[tuple[str | None, str]]:
    """The lines that are not part of a citation, and the whole text of each citation."""
    quote: list[str] = []
    for line in lines:
        match = _CITATION.match(line)
        if match is not None and match[2] == "#":
            quote.append(match[3].strip())
            continue
        if quote:
            yield None, " ".join(quote)
            quote = []
        yield ("", "") if match is not None else (line, "")
    if quote:
        yield None, " ".join(quote)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _chosen(questions: Questions, most: int) -> Iterator[str]:
    """The judgements of some of the questions, chosen by hash, so that others stay the same when one is new."""
    order = sorted(questions, key=lambda query: hashlib.sha256(query.encode()).hexdigest())
    for query in sorted(order[:most]):
        yield json.dumps({"query": query, "relevant": list(dict.fromkeys(questions[query]))}, ensure_ascii=False) + "\n"


BUILDERS: Final[Mapping[str, Callable[[Path, Path], Questions]]] = {
    "cranfield": build_cranfield,
    "vaswani": build_vaswani,
    "cosqa": build_cosqa,
    "docstrings": build_docstrings,
    "headings": build_headings,
    "commits": build_commits,
    "citations": build_citations,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kind", choices=BUILDERS)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--most", type=int, default=MOST_QUESTIONS, help="questions to keep")
    arguments = parser.parse_args()
    questions = BUILDERS[arguments.kind](arguments.source, arguments.target / "project")
    lines = list(_chosen(questions, arguments.most))
    _write(arguments.target / "judgements.jsonl", "".join(lines))
    print(f"{arguments.target}: {len(lines)} of {len(questions)} questions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
