"""Output for people: tables and colours on a terminal, plain lines in a pipe."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from contextive.cli.printing import print_line
from contextive.ops.skipped_files import skipped_text
from contextive.trace.reports.safe_text import printable_line

if TYPE_CHECKING:
    from rich.console import RenderableType

    from contextive.ops.doctor_project import Diagnosis

SNIPPET_LINES = 3
_MAX_LINE = 110
"""Longer lines of a snippet are cut in a pipe."""
_MAX_CALLS = 8
"""The most tools whose calls are shown on a terminal."""


def print_rows(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of text. The last column may be long; on a terminal it wraps within its column."""
    if not sys.stdout.isatty():
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
        for row in rows:
            print_line("  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1])))
        return
    _print_columns([[_escaped(cell) for cell in row] for row in rows])


def print_diagnoses(findings: Iterable[Diagnosis]) -> None:
    """Print the findings of the doctor, each with its remedy below it."""
    if not sys.stdout.isatty():
        for finding in findings:
            first, *more = finding.detail.split("\n")
            print_line(f"{'ok   ' if finding.ok else 'ERROR'}  {finding.subject:<14} {first}")
            for line in more:
                print_line(f"       {'':<14} {line}")
            if not finding.ok and finding.remedy:
                print_line(f"       {'':<14} → {finding.remedy}")
        return
    rows = []
    for finding in findings:
        remedy = f"\n[yellow]→ {_escaped(finding.remedy)}[/]" if not finding.ok and finding.remedy else ""
        mark = "[green]ok[/]" if finding.ok else "[bold red]ERROR[/]"
        rows.append([mark, _escaped(finding.subject), "\n".join(map(_escaped, finding.detail.split("\n"))) + remedy])
    _print_columns(rows)


def _print_columns(rows: Iterable[Sequence[RenderableType]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, row in enumerate(rows):
        if number == 0:
            for _ in row[:-1]:
                table.add_column(style="" if len(row) > 2 and table.columns else "bold", no_wrap=True)
            table.add_column(overflow="fold")
        table.add_row(*row)
    Console(highlight=False).print(table)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(printable_line(text))


def print_status(status: Mapping[str, Any]) -> None:
    """Print the state of the index: a summary on a terminal, everything in a pipe, one line each."""
    if not sys.stdout.isatty():
        for key, value in _flattened(status):
            print_line(f"{key}: {_plain_text(value)}")
        return
    _print_columns(_status_rows(status))


def _flattened(status: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its key; the key of a nested value has all keys on the way to it."""
    for key, value in status.items():
        if isinstance(value, Mapping) and value:
            yield from _flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _status_rows(status: Mapping[str, Any]) -> list[tuple[str, RenderableType]]:
    health = status["health"]
    rows: list[tuple[str, RenderableType]] = [
        ("health", "[green]ok[/]" if health["status"] == "ok" else f"[bold red]{health['status']}[/]"),
        *(("", f"[yellow]{_escaped(name)}: {_escaped(reason)}[/]") for name, reason in health["reasons"].items()),
    ]
    if "store" not in status:
        return rows
    store, run = status["store"], status["last_run"]
    vectors = sum(status["vectors"].values())
    missing = f", [yellow]{status['vectors_to_make']} missing[/]" if status["vectors_to_make"] else ""
    waiting = f", [yellow]{status['files_to_index']} still to be indexed[/]" if status["files_to_index"] else ""
    size = store.get("database_bytes", 0) / 1_000_000
    rows += [
        ("files", f"{status['files']}{waiting}  [dim]{_escaped(_plain_text(status['by_type']))}[/]"),
        ("chunks", f"{status['chunks']}"),
        ("vectors", f"{vectors}{missing}  [dim]{_escaped(', '.join(status['vectors']))}[/]"),
        ("skipped", f"[dim]{_escaped(skipped_text(status['left_out']) or 'none')}[/]"),
        ("indexed", f"{_plain_text(status['indexed_at'])}  [dim]{_ago(status['indexed_at'])}[/]"),
        ("git head", _escaped(str(status["repo_head"] or "none")[:12])),
        ("last run", _run_text(run) if run else "none"),
        ("now", _escaped(str(status["now"]))),
        ("store", f"{_escaped(str(store.get('store', '')))}, {size:.1f} MB"),
        ("calls", _calls_text(status["calls"])),
    ]
    return [*rows, *(("warning", f"[yellow]{_escaped(str(text))}[/]") for text in store.get("warnings", ()))]


def _calls_text(calls: Mapping[str, Any]) -> str:
    if not calls["by_tool"]:
        return "none"
    counts = ", ".join(f"{name} {count}" for name, count in list(calls["by_tool"].items())[:_MAX_CALLS])
    return f"{_escaped(counts)}  [dim]since {_escaped(calls['since'])}, only on this machine[/]"


def _run_text(run: Mapping[str, Any]) -> str:
    outcome = "[green]succeeded[/]" if run["success"] else "[red]failed[/]"
    return f"{_escaped(str(run['profile']))}, {_plain_text(run['started_at'])}, {outcome}"


def print_results(answer: Mapping[str, Any]) -> None:
    """Print the results of a search, best first."""
    if not sys.stdout.isatty():
        _print_plain_results(answer)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    words = re.findall(r"\w{3,}", str(answer.get("query", "")))
    for rank, result in enumerate(answer["results"], 1):
        chunk = result["chunk"]
        score = f"[dim]{result['scoring']['adjusted_score']:.2f}  {_escaped(chunk['artifact_type'])}[/]"
        console.print(f"[dim]{rank:>2}[/] [bold cyan]{_escaped(_location(chunk))}[/]  {score}", soft_wrap=True)
        if chunk.get("title"):
            console.print(f"   [bold]{_escaped(chunk['title'])}[/]")
        for line in _snippet(chunk):
            text = Text(f"   {line}", style="dim", no_wrap=True, overflow="ellipsis")
            text.highlight_words(words, style="bold not dim", case_sensitive=False)
            console.print(text, no_wrap=True, overflow="ellipsis")
        console.print()
    for warning in answer["metadata"].get("warnings", []):
        console.print(f"[yellow]note:[/] {_escaped(warning)}")
    if not answer["results"]:
        console.print("No results.")


def _print_plain_results(answer: Mapping[str, Any]) -> None:
    for rank, result in enumerate(answer["results"], 1):
        chunk = result["chunk"]
        print_line(
            f"{rank:>2}. {_location(chunk)}  ({result['scoring']['adjusted_score']:.3f}, {chunk['artifact_type']})"
        )
        if chunk.get("title"):
            print_line(f"    {printable_line(chunk['title'])}")
        for line in _snippet(chunk):
            print_line(f"    │ {line if len(line) <= _MAX_LINE else line[: _MAX_LINE - 1] + '…'}".rstrip())
    for warning in answer["metadata"].get("warnings", []):
        print_line(f"note: {warning}")
    if not answer["results"]:
        print_line("No results.")


def _location(chunk: Mapping[str, Any]) -> str:
    return f"{chunk['artifact_path']}:{chunk['line_start']}-{chunk['line_end']}"


def _snippet(chunk: Mapping[str, Any]) -> list[str]:
    return [printable_line(line) for line in str(chunk.get("snippet", {}).get("text", "")).splitlines()[:SNIPPET_LINES]]


def _ago(moment: object) -> str:
    if not isinstance(moment, float):
        return ""
    seconds = max(0, int(time.time() - moment))
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} seconds ago"


def _plain_text(value: Any) -> str:
    match value:
        case None:
            return "none"
        case list() | tuple():
            return "; ".join(map(_plain_text, value)) or "none"
        case dict():
            return ", ".join(f"{key} {_plain_text(item)}" for key, item in value.items()) or "none"
        case float() if value > 1_000_000_000:
            return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value))
        case _:
            return str(value)
