"""`ingest`, `search`, `status`, `verify`, `rebuild` and `eval`: commands of the index."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextive.cli.load_project import open_host
from contextive.cli.parser import add_project_options
from contextive.cli.printing import print_data, print_line
from contextive.cli.progress import progress_bar
from contextive.cli.tables import print_results, print_status
from contextive.errors import ConfigError, NotFound, Unavailable, UsageError
from contextive.ops.skipped_files import skipped_text

if TYPE_CHECKING:
    from contextive.ingest.indexer import IngestResult
    from contextive.ingest.settings import IngestProgress
    from contextive.search.evaluation import Evaluation, Judgement
    from contextive.search.feedback import VoteJudgements
    from contextive.search.index import Index
    from contextive.search.metrics import MeanInterval


def configure_ingest(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    parser.add_argument(
        "--name", metavar="NAME", default="local", help="name under which the run is recorded (default: local)"
    )
    parser.add_argument("--dry-run", action="store_true", help="report what a run would do, and write nothing")
    parser.add_argument("--full", action="store_true", help="parse every file, even if it has not changed")
    _add_embedding_options(parser)
    parser.add_argument(
        "--dummy-embeddings", action="store_true", help="compute embeddings without a model, for experiments"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_ingest)


def _add_embedding_options(parser: argparse.ArgumentParser) -> None:
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--wait", action="store_true", help="also compute the embeddings; otherwise a server does it in the background"
    )
    choice.add_argument("--no-vectors", action="store_true", help="do not compute embeddings (the default)")


def run_ingest(options: argparse.Namespace) -> int:
    with _index(options) as index:
        return _ingest(index, options, full=options.full)


def configure_rebuild(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    _add_embedding_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_rebuild, name="rebuild", dry_run=False, dummy_embeddings=False)


##= docs/spec/knowledge.md#store
##% The command `rebuild` MUST start over from the files and preserve the kept rows.
def run_rebuild(options: argparse.Namespace) -> int:
    """Delete everything derived from the files and index them again. Runs, votes, reports and the audit log are kept."""
    with _index(options) as index:
        repair = index.start_over()
        if repair is not None:
            print_line(repair.message, file=sys.stderr)
        return _ingest(index, options, full=True)


def configure_verify(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_verify)


def run_verify(options: argparse.Namespace) -> int:
    """Compare the index with the files, row by row. Returns 0 if they match, otherwise 1."""
    from contextive.ingest.verification import verify_index

    with _index(options) as index, progress_bar() as progress:
        found = list(verify_index(index.indexer(), index.store, progress))
    if options.json:
        print_data(
            json.dumps({"ok": not found, "discrepancies": [{"subject": d.subject, "what": d.what} for d in found]})
        )
    else:
        for discrepancy in found:
            print_line(f"{discrepancy.subject}: {discrepancy.what}")
        print_line(
            f"{len(found)} differences. Run `contextive-mcp ingest` to update the index, or `rebuild` to start over."
            if found
            else "The index matches the files."
        )
    return 1 if found else 0


def configure_status(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_status)


def run_status(options: argparse.Namespace) -> int:
    """Print the state of the index and the health of the project. Returns 1 if the index cannot be read."""
    from contextive.ops.index_status import health_of, status_of
    from contextive.packs.introspect import HealthCheck
    from contextive.server.call_counts import read_call_counts

    status: dict[str, Any]
    try:
        host = open_host(options)
    except ConfigError as error:
        status = {
            "health": health_of(
                [HealthCheck("config", False, error.message, error.hint or "Run contextive-mcp check.")]
            )
        }
    else:
        try:
            status = {"health": health_of(host.checks())}
            if "index" not in status["health"]["reasons"]:
                status = status_of(host.index(), status["health"], read_call_counts(host.state_dir))
        finally:
            host.close()
    if options.json:
        print_data(json.dumps(status, ensure_ascii=False))
    else:
        print_status(status)
    if "store" in status:
        return 0
    for reason in status["health"]["reasons"].values():
        print_line(f"contextive-mcp: {reason}", file=sys.stderr)
    return 1


##= docs/spec/knowledge.md#km-search-requests
##% The command `search` MUST have the flags `--symbol`, `--kind` and `--lang`, each of which may be repeated.
def configure_search(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    parser.add_argument("query", metavar="WORDS", nargs="+", help="words or a question")
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="number of results, 1 to 25 (default: 10)")
    parser.add_argument(
        "--symbol", action="append", default=[], metavar="NAME", help="only chunks that declare this symbol"
    )
    parser.add_argument(
        "--kind", action="append", default=[], metavar="KIND", help="only symbols of this kind, such as function"
    )
    parser.add_argument("--lang", action="append", default=[], metavar="LANGUAGE", help="only symbols of this language")
    parser.add_argument(
        "--type", action="append", default=[], metavar="TYPE", help="only code, doc, test, proto or config"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, in the format of km-search")
    parser.set_defaults(run=run_search)


def run_search(options: argparse.Namespace) -> int:
    from contextive.cli.call import call_tool

    host = open_host(options)
    arguments: dict[str, Any] = {"query": " ".join(options.query), "limit": max(1, min(25, options.limit))}
    arguments |= {key: getattr(options, key) for key in ("symbol", "kind", "lang") if getattr(options, key)}
    if options.type:
        arguments["filters"] = {"artifact_types": options.type}
    if not options.json:
        arguments["detail"] = "full"  # people read the snippets and types of the full form
    answer = call_tool(host, "km-search", arguments)
    host.close()
    if options.json:
        print_data(json.dumps(answer, indent=2, ensure_ascii=False))
        return 0
    print_results(answer)
    return 0 if answer["results"] else 1


def configure_eval(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    parser.add_argument(
        "--judgements",
        type=Path,
        metavar="FILE",
        help="JSONL with queries and their relevant paths or chunk ids (default: use the votes on results)",
    )
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="only the first N queries")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_eval)


##= docs/spec/commands.md#eval
##% The command `eval` MUST measure search quality with the judgements in a file or with the recorded votes.
def run_eval(options: argparse.Namespace) -> int:
    from contextive.search.baselines import open_baselines
    from contextive.search.evaluation import evaluate

    judgements = _judgements(options.judgements) if options.judgements is not None else None
    with _index(options) as index, progress_bar() as progress:
        _ingest_quietly(index, progress)
        votes = _judgements_from_votes(index) if judgements is None else None
        report = evaluate(
            index.search,
            (votes.judgements if votes is not None else judgements or ())[: options.limit or None],
            baselines=open_baselines(index.store),
            progress=lambda done, total: progress("eval", done, total),
        )
    vote_counts = {} if votes is None else {"votes": votes.votes, "votes_without_search": votes.without_search}
    if options.json:
        print_data(json.dumps({**vote_counts, **asdict(report)}, indent=2))
        return 0
    if votes is not None:
        print_line(f"{votes.votes} votes, {votes.without_search} of them for searches that are no longer recorded")
    _print_evaluation(report)
    return 0


def _judgements(file: Path) -> tuple[Judgement, ...]:
    from contextive.search.evaluation import parse_judgements

    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"{file.name} does not exist.", hint="Name a JSON Lines file of judgements.") from None
    except OSError as failure:
        raise UsageError(f"{file.name} cannot be read: {failure.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file.name} is not UTF-8 text.") from None
    return parse_judgements(text)


def _judgements_from_votes(index: Index) -> VoteJudgements:
    from contextive.search.feedback import judgements_from_store

    votes = judgements_from_store(index.store)
    if not votes.judgements:
        raise NotFound(
            "There are no positive votes yet, so search quality cannot be measured.",
            hint="Vote on results with km-feedback-submit, or use --judgements FILE with lines such as "
            '{"query": "…", "relevant": ["path or chunk id"]}.',
        )
    return votes


##= docs/spec/knowledge.md#index-updates
##% The command `ingest` MUST make search by words ready and, unless `--wait` is given, leave embeddings to a server.
def _ingest(index: Index, options: argparse.Namespace, *, full: bool) -> int:
    from contextive.ingest.settings import IngestRequest
    from contextive.search.embedding.factory import PACKAGES
    from contextive.search.embedding.protocol import require_packages

    began = time.monotonic()
    request = IngestRequest(profile=options.name, dry_run=options.dry_run, full=full)
    with progress_bar() as progress:
        outcome = index.ingest(request, progress=progress)
        vectors, warning = 0, None
        if not options.dry_run:
            try:
                if options.wait or options.dummy_embeddings:
                    vectors = index.embed(dummy=options.dummy_embeddings, progress=progress)
                elif index.as_of().pending_vectors:
                    require_packages(*PACKAGES)
            except Unavailable as error:
                warning = error.full_message()
    pending = 0 if options.dry_run else index.as_of().pending_vectors
    if options.json:
        print_data(json.dumps({**_outcome_to_dict(outcome, vectors), "vectors_to_make": pending}, ensure_ascii=False))
    else:
        _print_outcome(outcome, vectors, time.monotonic() - began)
    if warning:
        print_line(f"No embeddings were computed: {warning}", file=sys.stderr)
    elif pending and not options.json:
        print_line(
            f"Search by words is ready. {pending} of the chunks have no embedding yet: a server computes them in the background, "
            "and --wait computes them now."
        )
    return 0


def _ingest_quietly(index: Index, progress: IngestProgress) -> None:
    from contextive.ingest.settings import IngestRequest

    index.ingest(IngestRequest(profile="eval"), progress=progress, always_record=False)
    index.embed(progress=progress)


@contextmanager
def _index(options: argparse.Namespace) -> Iterator[Index]:
    from contextive.search.index import Index

    host = open_host(options)
    try:
        yield host.services.get(Index)
    finally:
        host.close()


def _outcome_to_dict(outcome: IngestResult, vectors: int) -> dict[str, Any]:
    run = outcome.run
    return {
        "run_id": run.run_id,
        "profile": run.profile,
        "started_at": run.started_at,
        "duration_seconds": run.duration_seconds,
        "success": run.success,
        "artifact_counts": dict(run.artifact_counts),
        "chunk_count": run.chunk_count,
        "changed_counts": dict(run.changed_counts),
        "changed_chunk_count": run.changed_chunk_count,
        "repo_head": run.repo_head,
        "changed": len(outcome.changed),
        "unchanged": outcome.unchanged_count,
        "removed_artifacts": [dict(item) for item in outcome.removed],
        "skipped": dict(run.skipped),
        "vectors": vectors,
        "dry_run": outcome.dry_run,
    }


def _print_outcome(outcome: IngestResult, vectors: int, seconds: float) -> None:
    run = outcome.run
    would = "would be " if outcome.dry_run else ""
    changed, removed = len(outcome.changed), len(outcome.removed)
    print_line(f"{changed} files {would}indexed, {outcome.unchanged_count} unchanged, {removed} {would}removed")
    print_line(f"{run.changed_chunk_count} new chunks, {vectors} new vectors, {seconds:.1f} s")
    if not outcome.dry_run:
        print_line(f"the index has {run.artifact_count} files and {run.chunk_count} chunks")
    if skipped := skipped_text(run.skipped):
        print_line(f"skipped: {skipped}")


def _print_evaluation(report: Evaluation) -> None:
    print_line(f"{report.queries} queries, mean and 95 % confidence interval")
    print_line(f"{'':<8}  " + "".join(f"{name:<22}" for name in ("nDCG@10", "MRR@10", "recall@10", "hit@1", "hit@5")))
    for name, found in report.modes.items():
        shown = (found.ndcg, found.mrr, found.recall, found.hit1, found.hit5)
        print_line(f"{name:<8}  " + "".join(f"{_interval_text(measure):<22}" for measure in shown))
    over_lexical, over_dense = _interval_text(report.gain_over_lexical), _interval_text(report.gain_over_dense)
    print_line(f"gain of hybrid over lexical {over_lexical}, over dense {over_dense}")
    print_line(
        "nDCG@10 by vector weight: " + "  ".join(f"{weight:g} {value:.3f}" for weight, value in report.sweep.items())
    )


def _interval_text(measure: MeanInterval) -> str:
    return f"{measure.mean:.3f} ({measure.low:.3f} to {measure.high:.3f})"
