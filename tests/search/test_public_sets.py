"""The builders of question sets, each on a few lines of its kind of data."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from benchmarks.public_sets import BUILDERS

from contextive.search.evaluation import parse_judgements


def built(kind: str, source: Path, tmp_path: Path) -> dict[str, list[str]]:
    questions = BUILDERS[kind](source, tmp_path / "project")
    return {query: sorted(set(answers)) for query, answers in questions.items()}


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_abstracts_become_documents_and_queries_are_found_by_their_position(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "cran.all.1400.xml").write_text(
        "<doc><docno>7</docno><title>wing in\na slipstream .</title><text>wing in\na slipstream .\n the lift</text></doc>",
        encoding="utf-8",
    )
    (source / "cran.qry.xml").write_text("<top><num>4</num><title>\nwhat lift\n</title></top>", encoding="utf-8")
    (source / "cranqrel.trec.txt").write_text("1 0 7 1\n1 0 8 -1\n", encoding="utf-8")
    assert built("cranfield", source, tmp_path) == {"what lift": ["docs/7.md"]}
    assert (tmp_path / "project/docs/7.md").read_text(encoding="utf-8") == "# wing in a slipstream .\n\nthe lift\n"


def test_a_docstring_is_removed_and_asked_for(tmp_path: Path) -> None:
    source = write(
        tmp_path / "source",
        a__py='def f():\n    """Count the boxes on all shelves now.\n\n    More."""\n    return 1\n',
    )
    assert built("docstrings", source, tmp_path) == {"Count the boxes on all shelves now.": ["a.py::f"]}
    assert "boxes" not in (tmp_path / "project/a.py").read_text(encoding="utf-8")


def test_a_citation_is_removed_and_its_quote_asked_for(tmp_path: Path) -> None:
    code = "//= spec#1\n//# A sender MUST wait for\n//# the answer first.\nfn wait() {}\n"
    source = write(tmp_path / "source", a__rs=code, b__rs="fn other() {}\n")
    assert built("citations", source, tmp_path) == {"A sender MUST wait for the answer first.": ["a.rs"]}
    text = (tmp_path / "project/a.rs").read_text(encoding="utf-8")
    assert "MUST" not in text
    assert "fn wait() {}" in text


def test_the_subject_of_a_commit_asks_for_the_files_that_it_changed(tmp_path: Path) -> None:
    source = write(tmp_path / "source", a__py="a = 1\n", b__md="text\n")

    def git(*words: str) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=source, check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "Count every box once before the shelves (#12)")
    assert built("commits", source, tmp_path) == {"Count every box once before the shelves": ["a.py"]}


def test_questions_are_written_as_judgements(tmp_path: Path) -> None:
    items = [{"doc": "sort a list", "code": "def f(x):\n    return sorted(x)"}]
    source = tmp_path / "source"
    source.mkdir()
    for name in ("dev", "test"):
        (source / f"cosqa-retrieval-{name}-500.json").write_text(json.dumps(items), encoding="utf-8")
    found = built("cosqa", source, tmp_path)
    lines = [json.dumps({"query": query, "relevant": answers}) for query, answers in found.items()]
    assert parse_judgements("\n".join(lines))[0].grades == {"src/f0.py": 1.0}
