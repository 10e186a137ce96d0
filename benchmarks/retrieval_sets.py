"""Sets of questions about this project with known answers.

    python -m benchmarks.retrieval_sets --tree DIR     write DIR/functions, DIR/sections, docstrings.jsonl and headings.jsonl
    python -m benchmarks.retrieval_sets --check        list the answers in questions.jsonl whose headings no longer exist

*Docstring to function*: the question is the first sentence of a docstring, the answer is the function, in a copy of src/
without docstrings (DIR/functions). *Heading to section*: the question is a heading with its parent heading, the answer is the
section, in a copy of docs/ with numbers as headings (DIR/sections). The questions in questions.jsonl were written by hand, in
words other than those of the documents, and are searched for in docs/ itself. They are the hardest of the three.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
JUDGEMENTS = ROOT / "benchmarks" / "judgements"
QUESTIONS = 150
FEWEST_WORDS = 6
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n\s*\n|:$", re.MULTILINE)
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")


def strip_docstrings(source: str) -> tuple[str, dict[str, str]]:
    """A module without its docstrings, and the docstrings by the qualified name of what they describe."""
    lines = source.splitlines(keepends=True)
    found: dict[str, str] = {}
    for name, node in _documented(ast.parse(source), ()):
        statement = node.body[0]
        assert isinstance(statement, ast.Expr)
        assert statement.end_lineno is not None
        text = ast.get_docstring(node)
        if name and text:
            found.setdefault(name, text)
        indent = " " * statement.col_offset
        # Line numbers stay the same; a body that was only a docstring still needs a statement.
        kept = f"{indent}...\n" if len(node.body) == 1 and name else "\n"
        lines[statement.lineno - 1 : statement.end_lineno] = [kept, *["\n"] * (statement.end_lineno - statement.lineno)]
    return "".join(lines), found


Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _documented(node: Documented, outer: tuple[str, ...]) -> Iterator[tuple[str, Documented]]:
    if node.body and ast.get_docstring(node, clean=False) is not None:
        yield ".".join(outer), node
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _documented(child, (*outer, child.name))


def first_sentence(docstring: str) -> str:
    """The first sentence of a docstring, on one line."""
    return " ".join(_SENTENCE_END.split(docstring.strip(), maxsplit=1)[0].split())


def build_functions(target: Path) -> list[dict[str, object]]:
    """Write the stripped tree and return the questions, always the same for the same sources."""
    questions: dict[str, list[str]] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        relative = path.relative_to(ROOT)
        stripped, docstrings = strip_docstrings(path.read_text(encoding="utf-8"))
        (target / relative).parent.mkdir(parents=True, exist_ok=True)
        (target / relative).write_text(stripped, encoding="utf-8")
        for name, text in docstrings.items():
            sentence = first_sentence(text)
            if len(sentence.split()) >= FEWEST_WORDS:
                questions.setdefault(sentence, []).append(f"{relative.as_posix()}::{name}")
    # Chosen by hash, so that a new function changes only a few of the questions.
    chosen = sorted(questions, key=lambda sentence: hashlib.sha256(sentence.encode()).hexdigest())[:QUESTIONS]
    return [{"query": sentence, "relevant": questions[sentence]} for sentence in sorted(chosen)]


def build_sections(target: Path) -> list[dict[str, object]]:
    """Write the documents with numbers as headings and return the questions. Ambiguous headings are left out."""
    questions: dict[str, list[str]] = {}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        relative = path.relative_to(ROOT)
        numbered, headings = number_headings(path.read_text(encoding="utf-8"))
        (target / relative).parent.mkdir(parents=True, exist_ok=True)
        (target / relative).write_text(numbered, encoding="utf-8")
        for number, heading in headings.items():
            questions.setdefault(heading, []).append(f"{relative.as_posix()}#{number}")
    return [
        {"query": heading, "relevant": answers} for heading, answers in sorted(questions.items()) if len(answers) == 1
    ]


def number_headings(text: str) -> tuple[str, dict[int, str]]:
    """A document with numbers as headings, and each heading below the title by its number, with its parent heading."""
    lines: list[str] = []
    trail: list[str] = []
    found: dict[int, str] = {}
    is_code = False
    number = 0
    for line in text.splitlines():
        is_code ^= line.startswith("```")
        heading = _HEADING.match(line)
        if heading is None or is_code:
            lines.append(line)
            continue
        number += 1
        level = len(heading[1])
        trail = [*trail[: level - 1], *[""] * (level - 1 - len(trail)), _plain(heading[2])]
        lines.append(f"{heading[1]} {number}")
        if level > 1:
            found[number] = f"{trail[-2]}: {trail[-1]}"
    return "\n".join(lines) + "\n", found


def _plain(heading: str) -> str:
    return re.sub(r"[`*]+", "", heading)


def lost_headings() -> list[str]:
    """Answers in questions.jsonl whose headings no longer exist."""
    headings: dict[str, set[str]] = {}
    lost = []
    for line in (JUDGEMENTS / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        for answer in json.loads(line)["relevant"]:
            path, _, heading = answer.partition("#")
            if path not in headings:
                lines = (ROOT / path).read_text(encoding="utf-8").splitlines() if (ROOT / path).is_file() else []
                matches = [_HEADING.match(line) for line in lines]
                headings[path] = {_plain(match[2]) for match in matches if match}
            if heading not in headings[path]:
                lost.append(answer)
    return lost


def _write(name: str, questions: list[dict[str, object]]) -> None:
    text = "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions)
    (JUDGEMENTS / name).write_text(text, encoding="utf-8")
    print(f"{name}: {len(questions)} questions")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tree", type=Path, metavar="DIR", help="where to write the stripped trees")
    parser.add_argument("--check", action="store_true", help="check that the headings still exist")
    arguments = parser.parse_args()
    if arguments.tree:
        _write("docstrings.jsonl", build_functions(arguments.tree / "functions"))
        _write("headings.jsonl", build_sections(arguments.tree / "sections"))
    if arguments.check:
        lost = lost_headings()
        print("\n".join(lost) if lost else "all headings exist")
        return 1 if lost else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
