"""The retrieval group: how good search is on the question sets about this project, and how fast texts are embedded.

Each set is searched in a copy of the project from which the questions were removed; see benchmarks/retrieval_sets.py.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.figures import Figure, Plan
from benchmarks.retrieval_sets import JUDGEMENTS, ROOT, build_functions, build_sections
from contextive.ingest.settings import IngestRequest
from contextive.search.baselines import open_baselines
from contextive.search.embedding.minilm import MiniLmEmbedder
from contextive.search.evaluation import Judgement, evaluate, parse_judgements
from contextive.search.index import EmbeddingSettings, Index, IndexSettings

NOT_WORSE = 1.0
"""Hybrid search must find at least as much as each of the others."""
TEXTS_A_SECOND = 65.0
"""Texts of usual length that a second of CPU time has to be enough for."""
_ANCHORS = {"lexical": "the same by words alone", "bm25": "plain BM25", "grep": "words counted, like grep"}


def measure(plan: Plan) -> Iterator[Figure]:
    """All figures of the group. A quick run asks a fifth of the questions."""
    yield _embedding_speed(20 if plan.starts < 5 else 200)
    every = 5 if plan.starts < 5 else 1
    with tempfile.TemporaryDirectory(prefix="contextive-bench-") as folder:
        for name, root, judgements in _sets(Path(folder)):
            yield from _quality(name, root, judgements[::every])


def _sets(folder: Path) -> Iterator[tuple[str, Path, Sequence[Judgement]]]:
    """The name, the project and the judgements of each set."""
    for name, build in (("docstring to function", build_functions), ("heading to section", build_sections)):
        root = folder / name.split()[-1]
        questions = build(root)
        yield name, root, parse_judgements("\n".join(map(json.dumps, questions)))
    root = folder / "documents"
    shutil.copytree(ROOT / "docs", root / "docs")
    yield "question to section", root, parse_judgements((JUDGEMENTS / "questions.jsonl").read_text(encoding="utf-8"))


def _quality(name: str, root: Path, judgements: Sequence[Judgement]) -> Iterator[Figure]:
    index = Index(IndexSettings(root, root / ".contextive", embedding=EmbeddingSettings("minilm"), parser_processes=1))
    index.ingest(IngestRequest())
    index.embed()
    found = evaluate(index.search, judgements, baselines=open_baselines(index.store), sweep=())
    index.close()
    ours = found.modes["hybrid"].ndcg.mean
    for mode, anchor in _ANCHORS.items():
        theirs = found.modes[mode].ndcg.mean
        yield Figure(f"{name}, against {mode}", "nDCG@10", [ours], [theirs], anchor, NOT_WORSE)


def _embedding_speed(count: int) -> Figure:
    """Texts of about a hundred tokens for each second of CPU time."""
    model: Any = MiniLmEmbedder()
    words = (ROOT / "docs" / "knowledge.md").read_text(encoding="utf-8").split()
    texts = [" ".join(words[start : start + 75]) for start in range(0, 20 * 75, 75)]
    model.embed(texts[:2])
    rates = []
    for start in range(0, count, len(texts)):
        began = time.process_time()
        model.embed(texts[: count - start])
        rates.append(min(len(texts), count - start) / (time.process_time() - began))
    return Figure("embedding, texts a CPU-second", "calls/s", [mean(rates)], [TEXTS_A_SECOND], "the goal", NOT_WORSE)
