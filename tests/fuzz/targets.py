"""The parsers: how each is called with bytes, and which errors it may raise."""

from __future__ import annotations

import gzip
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from contextive.config.cron import Cron, CronError
from contextive.config.document import parse_config
from contextive.config.loader import ConfigRequest, load_config
from contextive.errors import ContextiveError
from contextive.knowledge.artifact_parser import ParseContext, parse_artifact
from contextive.knowledge.graph import Node
from contextive.knowledge.note_words import NoteWords, excerpt, passages
from contextive.knowledge.query_words import query_words
from contextive.knowledge.tokeniser import query_identifiers, query_terms, tokenise, unstemmed_words
from contextive.models.answer_citations import keep_known_citations
from contextive.models.llms_txt import parse_llms_txt
from contextive.notes.catalog import NoteCatalog
from contextive.notes.front_matter import parse_front_matter, text_values, time_value, write_values
from contextive.notes.link_edits import NoteNames, rename_heading, rename_links, unlink
from contextive.notes.note import Note, parse_note
from contextive.notes.slug import first_slug, is_safe_name, slugify
from contextive.notes.wikilink import parse_links
from contextive.packs.knowledge.graph_query import QueryInput
from contextive.recipes.schema import parse_recipe
from contextive.recipes.template import MissingValue, TemplateError, TemplateValues, parse_path, paths_in, render
from contextive.registry.paging import decode_cursor, offset_of
from contextive.registry.uri import UriTemplate
from contextive.search.filters import parse_filters
from contextive.search.graph_query import PropertyCondition
from contextive.server.client_address import TrustedProxies
from contextive.server.headers import RequestHeaders
from contextive.server.jsonrpc import Refusal, parse_line
from contextive.store.archive import check_archive
from contextive.store.sql.fts import FtsEngine
from contextive.store.values import LexicalQuery
from contextive.trace.citation import CommentStyle, parse_citations
from contextive.trace.duvet_config import parse_duvet_config
from contextive.trace.extraction import extract_requirements, format_requirement_comments, format_requirement_file
from contextive.trace.formats.layout import read_specification
from contextive.trace.formats.values import SpecFiles, SpecFormat, SpecState
from contextive.trace.ietf import parse_ietf
from contextive.trace.markdown import parse_markdown
from contextive.trace.matching import Haystack, match_quote
from contextive.trace.reports.merge import merge_reports
from contextive.trace.requirement_file import parse_requirement_file
from contextive.trace.specification import Specification
from contextive.trace.target import canonical_url
from contextive.workspace.contents import decode_text
from contextive.workspace.globs import Glob
from contextive.workspace.ignore import parse_rules
from contextive.workspace.secrets import contains_secret

CODE = ("py", "ts", "tsx", "js", "go", "rs", "java", "c", "cpp")


@dataclass(frozen=True)
class Target:
    """One parser."""

    name: str
    run: Callable[[bytes], object]
    errors: tuple[type[Exception], ...] = (ContextiveError,)
    """The errors that it may raise; anything else is a bug."""
    growth: int = 60
    """How many characters of output are allowed per byte of input."""


def _file_text(data: bytes) -> str:
    """Decode as for a file: invalid UTF-8 was refused or replaced before."""
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def _any_text(data: bytes) -> str:
    """Decode as for an argument, which may contain lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def _citations(data: bytes) -> object:
    text = _file_text(data)
    return [parse_citations(text, "a.rs"), parse_citations(text, "a.py", CommentStyle("##=", "##%"))]


def _specification(parse: Callable[[str], Specification]) -> Callable[[bytes], object]:
    def run(data: bytes) -> object:
        specification = parse(_file_text(data))
        found = extract_requirements(specification)
        for section, requirements in found:
            format_requirement_file("spec.md", section, requirements)
            format_requirement_comments("spec.md", section, requirements)
            haystack = Haystack.of(section)
            for requirement in requirements[:3]:
                match_quote(requirement.text, haystack)
        return [[r.text for r in requirements] for _, requirements in found]

    return run


def _note(data: bytes) -> object:
    text = _file_text(data)
    note = parse_note("notes/a.md", text)
    other = parse_note("notes/b.md", f"# {note.title}\n\n[[{note.slug}]] and [[a]]\n")
    catalog = NoteCatalog([note, other])
    to = NoteNames("new-name", "New name", "notes/new-name.md")
    return [
        note,
        rename_links(text, catalog, note, to),
        unlink(text, catalog, note),
        rename_heading(text, "New"),
        _note_search(note, other, text[:500]),
        [catalog.outlinks(each) for each in catalog.notes],
    ]


def _note_search(note: Note, other: Note, query: str) -> list[str]:
    index, words = NoteWords(), query_words(query)
    index.update([note, other])
    found = {each.path: each for each in (*index.search(words, 5), *index.containing(query, 5))}
    return [excerpt(each, query, words, passage) for each in found.values() for passage in passages(each)]


def _front_matter(data: bytes) -> object:
    text = _file_text(data)
    head = parse_front_matter(text)
    write_values(text[: head.length], {"title": "A: new # one", "tags": ["a, b", "b"]})
    return [dict(head.values), text_values(head.values, "tags"), time_value(head.values, "created")]


def _names(data: bytes) -> object:
    text = _any_text(data)
    return [slugify(text), first_slug(text, "x"), is_safe_name(text), parse_links(text)]


def _document(name: str) -> Callable[[bytes], object]:
    def run(data: bytes) -> object:
        document = parse_config(name, data)
        document.lines()
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, name).write_bytes(data)
            request = ConfigRequest(Path(folder), Path(folder, name), {"HOME": "here"})
            return [document.values, load_config(request).config.model_dump()]

    return run


def _template(data: bytes) -> object:
    text = _any_text(data)
    list(paths_in(text))
    names = TemplateValues({"x": "y" * 1000, "n": [1, {"a": None}]}, {"s": {"result": 1}}, {"c": [text]})
    return len(str(render({"k": [text]}, names)))


_PATHS = (
    b"a",
    b"src/a.py",
    b"docs/x y/z.md",
    b"a" * 250,
    b"a/" * 120 + b"a",
    b"target/debug/x",
    "\u00e9/\u4e16.md".encode(),
)


def _ignore(data: bytes) -> object:
    rules = parse_rules(data)
    return rules and [
        rules.verdict(path, path.rpartition(b"/")[2], folder) for path in _PATHS for folder in (True, False)
    ]


@cache
def _empty_folder() -> str:
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / ("x" * 120 + ".md")).touch()
    return str(folder)


def _glob(data: bytes) -> object:
    globs = [Glob(_any_text(line)) for line in data.split(b"\n")[:20]]
    inside = [glob for glob in globs if ".." not in glob.base.split("/") and not glob.base.startswith("/")]
    return [list(glob.walk(_empty_folder(), lambda _: False)) for glob in inside]


def _cron(data: bytes) -> object:
    return str(Cron.parse(_any_text(data)).next_after(datetime(2026, 2, 28, tzinfo=UTC)))


_NODE = Node("Symbol", "src/a.py::f", {"kind": "function", "line": 3, "tags": ["x"], "none": None})


def _graph_query(data: bytes) -> object:
    """Validate the arguments with the model, as the dispatcher does, and evaluate the conditions."""
    query = QueryInput.model_validate_json(data, strict=True)
    conditions = [*query.start.where, *(each for step in query.steps for each in step.where)]
    return [PropertyCondition(each.property, each.op, each.value).holds(_NODE) for each in conditions]


def _filters(data: bytes) -> object:
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return parse_filters(raw, now=time.time(), symbol="a,b").applied


@cache
def _lexical_index() -> FtsEngine:
    return FtsEngine(None, create=True)


def _query(data: bytes) -> object:
    """Split a query into words and run it against the full-text index."""
    text = _any_text(data)
    terms, whole = query_terms(text), query_identifiers(text)
    found = _lexical_index().search(LexicalQuery(terms[:200], whole[:200]), 5, None)
    return [tokenise(text), terms, whole, unstemmed_words(text), found]


def _chunks(path: str) -> Callable[[bytes], object]:
    def run(data: bytes) -> object:
        text = decode_text(data)
        return parse_artifact(path, data, text, ParseContext()) if isinstance(text, str) else None

    return run


def _archive(data: bytes) -> object:
    """Mutate the tar archive inside: gzip would detect any change by its checksum."""
    with tempfile.NamedTemporaryFile(suffix=".tar.gz") as file:
        file.write(gzip.compress(data, 1, mtime=0))
        file.flush()
        return check_archive(Path(file.name))


def _packed_archive(data: bytes) -> object:
    with tempfile.NamedTemporaryFile(suffix=".tar.gz") as file:
        file.write(data)
        file.flush()
        return check_archive(Path(file.name))


def _line(data: bytes) -> object:
    found = parse_line(data)
    return found.body() if isinstance(found, Refusal) else found


def _forwarded(data: bytes) -> object:
    proxies = TrustedProxies.of(["10.0.0.0/8", "2001:db8:1::/48"])
    return [
        proxies.limit_key("10.0.0.1", RequestHeaders({"headers": [(name, data)]}))
        for name in (b"forwarded", b"x-forwarded-for")
    ]


def _cursor(data: bytes) -> object:
    text = _any_text(data)
    template = UriTemplate("duvet:///citations/{+id}/x/{name}")
    return [template.match(text), decode_cursor("tools", text), offset_of("tools", text)]


def _spec_driven(format_: SpecFormat, state: SpecState, *paths: str) -> Callable[[bytes], object]:
    """A reader of a spec-driven format; every file of the specification has the same text."""

    def run(data: bytes) -> object:
        texts = dict.fromkeys(paths, _file_text(data))
        return read_specification(SpecFiles(format_, "a", state, paths), texts).requirements

    return run


TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        Target("duvet-config", lambda data: parse_duvet_config(_file_text(data), "config.toml", {"A": "b"})),
        Target("requirement-toml", lambda data: parse_requirement_file(_file_text(data), "a.toml")),
        Target("citations", _citations),
        Target("markdown-specification", _specification(parse_markdown)),
        Target("ietf-specification", _specification(parse_ietf)),
        Target(
            "kiro", _spec_driven(SpecFormat.KIRO, SpecState.CURRENT, "requirements.md", "design.md", "tasks.md"), ()
        ),
        Target("kiro-bugfix", _spec_driven(SpecFormat.KIRO, SpecState.CURRENT, "bugfix.md", "tasks.md"), ()),
        Target("speckit", _spec_driven(SpecFormat.SPECKIT, SpecState.CURRENT, "spec.md", "tasks.md"), ()),
        Target("openspec", _spec_driven(SpecFormat.OPENSPEC, SpecState.CURRENT, "spec.md"), ()),
        Target(
            "openspec-change", _spec_driven(SpecFormat.OPENSPEC, SpecState.PROPOSED, "specs/a/spec.md", "tasks.md"), ()
        ),
        Target("note", _note),
        Target("front-matter", _front_matter),
        Target("names-and-links", _names),
        Target("config-json", _document("a.json")),
        Target("config-yaml", _document("a.yaml")),
        Target("config-toml", _document("a.toml")),
        Target("recipe", lambda data: parse_recipe(_file_text(data), "fuzz")),
        Target("template", _template, (TemplateError, MissingValue)),
        Target("recipe-path", lambda data: parse_path(_any_text(data)), (TemplateError,)),
        Target("ignore-rules", _ignore),
        Target("globs", _glob),
        Target("cron", _cron, (CronError,)),
        Target("graph-query", _graph_query, (ValidationError,)),
        Target("filters", _filters),
        Target("llms-txt", lambda data: parse_llms_txt(_file_text(data), "fuzz"), ()),
        Target("archive", _archive),
        Target("archive-packed", _packed_archive),
        Target("merged-reports", lambda data: merge_reports([_file_text(data)] * 2), growth=2000),
        Target("json-rpc-line", _line, ()),
        Target("forwarded", _forwarded, ()),
        Target("cursors-and-uris", _cursor),
        Target("query-words", _query, ()),
        Target("cited-answers", lambda data: keep_known_citations(_any_text(data), 3, {"a-b"}), ()),
        Target("secrets", lambda data: contains_secret(_any_text(data)), ()),
        Target("target-urls", lambda data: canonical_url(_any_text(data)), ()),
        *(Target(f"code-{suffix}", _chunks(f"src/a.{suffix}"), (), growth=200) for suffix in CODE),
        *(Target(f"chunks-{suffix}", _chunks(f"docs/a.{suffix}"), (), growth=200) for suffix in ("md", "sql", "txt")),
    )
}
