"""Compare the calls in the graph of a project with what a language server says about a sample of its call sites.

    python -m benchmarks.call_edges DIR LANGUAGE [--list]

The project needs an index: `contextive-mcp ingest --project DIR --no-vectors`. Call sites are taken at random from all calls of
names that the project declares. A call counts for the *recall* if its target is a function, method or class of the project, and
an edge that leaves the symbol around the call under this name counts for the *precision*. The language server decides; where it
knows no declaration, because a parameter has no type for example, a person decides: benchmarks/judgements/call_edges has those
answers. Calls that nobody has judged are counted separately.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.call_edges.language_server import SERVERS, LanguageServer, Place
from benchmarks.call_edges.sites import Declaration, Site, Sources
from contextive.knowledge.symbol import Symbol
from contextive.store import open_store
from contextive.store.protocol import Store

JUDGEMENTS: Final = Path(__file__).parent.parent / "judgements" / "call_edges"
_MAX_SAME: Final = 12
"""The limit of calls of one name in one symbol about which the server is asked."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a judge says about a call. No declarations: the target is not a function, method or class of the project."""

    declarations: frozenset[Declaration] = frozenset()
    is_known: bool = True


@dataclass(slots=True)
class Graph:
    """The calls in the index of a project."""

    store: Store
    _symbols: dict[str, list[Symbol]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for path, symbol in self.store.files.symbols():
            self._symbols[path].append(symbol)

    def around(self, path: str, line: int) -> list[str]:
        """The nodes of the symbols around a line, the innermost one first, and the node of the file."""
        found = [symbol for symbol in self._symbols.get(path, ()) if symbol.line_start <= line <= symbol.line_end]
        found.sort(key=lambda symbol: (-symbol.line_start, symbol.line_end))
        artifact = self.store.files.artifact(path)
        label = "TestCase" if artifact and artifact.artifact.artifact_type == "test" else "SourceFile"
        return [*(f"Symbol:{symbol.id}" for symbol in found), f"{label}:{path}"]

    def called_from(self, node: str) -> Iterator[tuple[Symbol, bool]]:
        """The called symbols, and whether each was found by its name alone."""
        for edge in self.store.graph.expand([node], ["CALLS"], "outgoing", 10_000):
            symbol = self.store.files.symbol(edge.target.partition(":")[2])
            if symbol is not None:
                yield symbol, edge.by_name


@dataclass(slots=True)
class Result:
    """The counts of one project."""

    sites: int = 0
    internal: int = 0
    found: int = 0
    edges: int = 0
    right: int = 0
    by_name: int = 0
    right_by_name: int = 0
    unjudged: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def row(self, project: str, language: str) -> str:
        judged = f"{self.right / max(1, self.edges):.2f} ({self.right}/{self.edges})"
        recall = f"{self.found / max(1, self.internal):.2f} ({self.found}/{self.internal})"
        named = f"{self.right_by_name}/{self.by_name}"
        return f"| {project} | {language} | {self.sites} | {judged} | {recall} | {named} | {len(self.unjudged)} |"


HEADER: Final = (
    "| project | language | call sites | precision | recall | right by name | unjudged |\n|---|---|---|---|---|---|---|"
)


class KeptAnswers:
    """The answers of a language server, which is started when the first new one is needed."""

    def __init__(self, start: Callable[[], LanguageServer], file: Path | None) -> None:
        self._start = start
        self._file = file
        self._server: LanguageServer | None = None
        self._known: dict[str, list[Place] | None] = {}
        if file is not None and file.is_file():
            self._known = json.loads(file.read_text(encoding="utf-8"))

    def definitions(self, place: Place) -> list[Place] | None:
        key = "{}:{}:{}".format(*place)
        if key not in self._known:
            self._server = self._server or self._start()
            self._known[key] = self._server.definitions(place)
        found = self._known[key]
        return None if found is None else [(path, line, column) for path, line, column in found]

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        if self._file is not None:
            self._file.write_text(json.dumps(self._known), encoding="utf-8")


class Judge:
    """Finds the target of a call: by the language server, or in the answers of a person."""

    def __init__(
        self,
        definitions: Callable[[Place], list[Place] | None],
        sources: Sources,
        answers: Mapping[tuple[str, str, str], Target],
    ) -> None:
        self._definitions = definitions
        self._sources = sources
        self._answers = answers

    def target(self, site: Site) -> Target:
        answer = self._answers.get((site.place[0], self._sources.line(site.place), site.name))
        if answer is not None:
            return answer
        places = self._definitions(site.place)
        if places is None:
            return Target(is_known=False)
        found = [self._sources.declarations(path).get((line, column)) for path, line, column in places]
        return Target(frozenset(item for item in found if item is not None))


def read_answers(path: Path) -> dict[tuple[str, str, str], Target]:
    """The answers of a person, by path, text of the line, and called name."""
    if not path.is_file():
        return {}
    answers = {}
    for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        targets = frozenset(Declaration(path, line, name) for path, line, name in row["targets"])
        answers[row["path"], row["text"], row["name"]] = Target(targets)
    return answers


def measure(sources: Sources, graph: Graph, judge: Judge, sites: Sequence[Site]) -> Result:
    """Compare the edges of the sampled calls with what the judge says."""
    result = Result(sites=len(sites))
    same: dict[tuple[str, str], list[Site]] = defaultdict(list)
    for site in sources.calls():
        same[_source(graph, site), site.name].append(site)
    seen: set[tuple[str, str]] = set()
    for number, site in enumerate(sites):
        if sys.stderr.isatty():
            print(f"\r{number} of {len(sites)}", end="", file=sys.stderr)
        target = judge.target(site)
        _count_recall(result, sources, graph, site, target)
        key = (_source(graph, site), site.name)
        if key not in seen:
            seen.add(key)
            _count_precision(result, sources, graph, judge, site, same[key])
    return result


def _source(graph: Graph, site: Site) -> str:
    return graph.around(site.place[0], site.place[1] + 1)[0]


def _count_recall(result: Result, sources: Sources, graph: Graph, site: Site, target: Target) -> None:
    where = _where(sources, site)
    if not target.is_known:
        result.unjudged.append(where)
        return
    around = graph.around(site.place[0], site.place[1] + 1)
    if not target.declarations or any(
        _is_declared(around[0].partition(":")[2], item, graph) for item in target.declarations
    ):
        return  # not of the project, or recursive
    result.internal += 1
    # The line of a decorator belongs to the function, but a call in it belongs to what is around the function.
    called = [symbol for node in around for symbol, _ in graph.called_from(node)]
    if any(_matches(symbol, item) for symbol in called for item in target.declarations):
        result.found += 1
    else:
        result.missed.append(
            f"{where} -> {', '.join(sorted(f'{item.path}:{item.line}' for item in target.declarations))}"
        )


def _count_precision(
    result: Result, sources: Sources, graph: Graph, judge: Judge, site: Site, same: Sequence[Site]
) -> None:
    edges = [
        (symbol, by_name) for symbol, by_name in graph.called_from(_source(graph, site)) if symbol.name == site.name
    ]
    if not edges:
        return
    targets = [judge.target(other) for other in same[:_MAX_SAME]]
    for symbol, by_name in edges:
        is_right = any(_matches(symbol, item) for target in targets for item in target.declarations)
        if not is_right and not all(target.is_known for target in targets):
            result.unjudged.append(f"{_where(sources, site)} => {symbol.id}")
            continue
        result.edges += 1
        result.by_name += by_name
        result.right += is_right
        result.right_by_name += by_name and is_right
        if not is_right:
            result.wrong.append(f"{_where(sources, site)} => {symbol.id}{' (by name)' if by_name else ''}")


def _matches(symbol: Symbol, declaration: Declaration) -> bool:
    """Whether a symbol is the declaration. A variant of an enum is declared inside its symbol."""
    if symbol.id.partition("::")[0] != declaration.path or not (
        symbol.line_start <= declaration.line <= symbol.line_end
    ):
        return False
    return symbol.name == declaration.name or symbol.kind == "type"


def _is_declared(symbol_id: str, declaration: Declaration, graph: Graph) -> bool:
    symbol = graph.store.files.symbol(symbol_id)
    return symbol is not None and symbol.name == declaration.name and _matches(symbol, declaration)


def _where(sources: Sources, site: Site) -> str:
    path, line, _ = site.place
    return f"{path}:{line + 1} {site.name}: {sources.line(site.place)[:110]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("project", type=Path, metavar="DIR", help="an indexed project")
    parser.add_argument("language", choices=SERVERS)
    parser.add_argument("--server", metavar="COMMAND", help="the language server (default: the usual one)")
    parser.add_argument("--sample", type=int, default=200, metavar="N", help="number of call sites (default: 200)")
    parser.add_argument("--seed", type=int, default=22, help="seed of the sample (default: 22)")
    parser.add_argument("--wait", type=float, default=600, metavar="SECONDS", help="limit of the server's preparation")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="file for the server's answers, for the next run")
    parser.add_argument("--list", action="store_true", help="also list what is wrong, missing and unjudged")
    arguments = parser.parse_args()
    sources = Sources(arguments.project, arguments.language)
    sites = sources.sample(arguments.sample, arguments.seed)
    store = open_store(arguments.project / ".contextive", project=arguments.project)
    answers = read_answers(JUDGEMENTS / f"{arguments.project.name}.jsonl")
    command = arguments.server or SERVERS[arguments.language]

    def start() -> LanguageServer:
        server = LanguageServer(command, arguments.language, arguments.project)
        server.wait_until_ready(sites[0].place[0], arguments.wait)
        return server

    kept = KeptAnswers(start, arguments.keep)
    result = measure(sources, Graph(store), Judge(kept.definitions, sources, answers), sites)
    kept.close()
    store.close()
    print(HEADER)
    print(result.row(arguments.project.name, arguments.language))
    if arguments.list:
        for title in ("wrong", "missed", "unjudged"):
            for line in getattr(result, title):
                print(f"    {title}: {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
