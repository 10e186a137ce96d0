"""Path traversal in every argument, URI, route and placeholder that takes a string."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from contextive.packs.knowledge.routes import ROUTES

from .argument_slots import Slot, slots
from .target import ERAS, AttackTarget, Era

PATH_LIKE = re.compile(
    r"path|slug|dest|source|id(entifier)?$|glob|file|folder|dir|recipe|name|title|url|spec|cursor|key$"
)
"""Arguments with these names are tried with every word, all other strings with some of the words."""
READS = re.compile(r"path|slug|dest|source|id(entifier)?$|glob|file|recipe|^name|url|spec|cursor|key$")

WORDS: dict[str, str] = {
    "dots": "../../etc/passwd",
    "dots-to-canary": "../outside/secret.md",
    "backslashes": "..\\..\\outside\\secret.md",
    "dots-inside": "a/../../outside/secret.md",
    "doubled-dots": "....//....//outside/secret.md",
    "encoded": "%2e%2e%2foutside%2fsecret.md",
    "encoded-twice": "%252e%252e%252foutside%252fsecret.md",
    "overlong": "..%c0%afoutside%c0%afsecret.md",
    "absolute": "/etc/passwd",
    "absolute-canary": "{folder}/outside/secret.md",
    "drive": "C:\\x",
    "drive-relative": "C:x",
    "share": "\\\\srv\\share",
    "home": "~/.ssh/id_rsa",
    "file-url": "file:///etc/passwd",
    "nul": "harbour\0.md",
    "newline": "harbour\nnext",
    "carriage-return": "harbour\rnext",
    "long-name": "n" * 4096,
    "long-component": "docs/" + "é" * 150 + "/x.md",
    "empty-segment": "docs//x.md",
    "trailing-dot": "docs/x.md.",
    "trailing-space": "docs/x.md ",
    "device": "docs/CON.md",
    "stream": "docs/x.md:hidden",
    "lone-surrogate": "docs/\ud800.md",
    "sibling-absolute": "{folder}/kb_evil/x.md",
    "sibling-relative": "../kb_evil/x.md",
    "the-root-itself": "{folder}/kb",
    "citation-with-dots": "src/main.rs:42:../../x",
    "line-zero": "src/reader.py:0",
    "line-negative": "src/reader.py:-1",
    "line-huge": "src/reader.py:1000000000000",
    "line-of-many-digits": "src/reader.py:" + "9" * 5000,
    "canary-line": "../outside/secret.md:3",
}
WRITTEN = ("notes/*.md", "docs/*.md", "docs/*.txt")
"""Where writing tools may create a file if the word is a harmless title."""


def echoes(word: str) -> list[str]:
    """The caller's own word, whole or truncated, which an error may repeat."""
    return [word, *(word[:length] for length in (120, 100, 64, 40) if len(word) > length)]


Listed = list[dict[str, Any]]
Placeholders = tuple[Listed, Listed]
"""Resource templates and prompts."""


@pytest.fixture(scope="module")
def tools(target: AttackTarget) -> Listed:
    """All tools except those of the test plugin, some of which sleep or fail on purpose."""
    return [tool for tool in target.listed("tools/list", "tools") if not tool["name"].startswith("odd_")]


@pytest.fixture(scope="module")
def placeholders(target: AttackTarget) -> Placeholders:
    """All templates and prompts except those of the test plugin, some of which are broken on purpose."""
    templates = target.listed("resources/templates/list", "resourceTemplates")
    prompts = target.listed("prompts/list", "prompts")
    return (
        [template for template in templates if not template["uriTemplate"].startswith("odd:")],
        [prompt for prompt in prompts if not prompt["name"].startswith("odd_")],
    )


def targets(target: AttackTarget, tools: Listed, case: str = "dots") -> Iterator[tuple[Slot, Era]]:
    """Yield the arguments to fill with a word. Each transport gets half of them and eras alternate; with the next word
    the halves are swapped."""
    turn = list(WORDS).index(case)
    is_http = target.transport == "http"
    for number, slot in enumerate(slot for tool in tools for slot in slots(tool)):
        name = str(slot.path[-2] if slot.path[-1] == 0 else slot.path[-1])
        if "{folder}" in WORDS[case] and not READS.search(name):
            continue  # a title may contain anything, and the next search would find it
        if (number + turn) % 2 == is_http and (PATH_LIKE.search(name) or turn // 2 % 4 == number // 2 % 4):
            yield slot, ERAS[(number // 2 + turn // 2) % 2]


def test_the_path_arguments_are_found_from_the_schemas(target: AttackTarget, tools: Listed) -> None:
    found = {slot.name for word in ("dots", "backslashes") for slot, _ in targets(target, tools, word)}
    found |= {slot.name for slot, _ in targets(target, tools, "dots-to-canary")}
    assert {
        "get_page:slug",
        "create_page:slug",
        "km-upload:source_path",
        "km-upload:destination",
        "km-storetext:destination",
        "km-graph-node:node_id",
        "get_citation_context:citation_id",
        "km-ingest-trigger:paths.0",
        "km-feedback-batch:votes.0.chunk_id",
        "km-recipe-run:recipe",
    } <= found


@pytest.mark.parametrize("case", WORDS)
def test_no_word_leads_out_of_the_project(
    target: AttackTarget, tools: Listed, placeholders: Placeholders, case: str
) -> None:
    word = WORDS[case].replace("{folder}", str(target.folder))
    segment = quote(word, safe="", errors="surrogatepass")
    for slot, era in targets(target, tools, case):
        target.fire(slot.tool, slot.filled(word), era=era)
    fire_at_placeholders(target, placeholders, word, segment)
    if target.transport == "http":
        fire_at_routes(target, segment)
    # A success outside tools is not logged.
    owed = [shot for shot in target.shots if shot.code is not None or shot.what.startswith("tools/call")]
    target.assert_unharmed(entries=len(owed), may_change=WRITTEN, allowed_texts=[*echoes(word), segment])


def fire_at_placeholders(target: AttackTarget, placeholders: Placeholders, word: str, segment: str) -> None:
    """Put the word into every placeholder of resources, completions and prompts."""
    templates, prompts = placeholders
    for number, template in enumerate(templates):
        uri = template["uriTemplate"]
        if number % 2 == (target.transport == "http"):
            continue
        spelling = segment if number // 2 % 2 else word
        filled = re.sub(r"\{[^}]+\}", spelling.replace("\\", r"\\"), uri)
        target.ask("resources/read", {"uri": filled}, era=ERAS[number // 4 % 2])
        if number % 4 == 0:
            placeholder = re.findall(r"\{\+?([^}]+)\}", uri)[-1]
            reference = {"type": "ref/resource", "uri": uri}
            target.ask("completion/complete", {"ref": reference, "argument": {"name": placeholder, "value": word}})
    for prompt in prompts:
        names = [argument["name"] for argument in prompt.get("arguments", ())]
        target.ask("prompts/get", {"name": prompt["name"], "arguments": dict.fromkeys(names, word)})
    for uri in (word, f"duvet:///{word}", f"file://{word}"):
        target.ask("resources/read", {"uri": uri})
    target.ask("resources/subscribe", {"uri": f"duvet:///citations/{word}"})


def fire_at_routes(target: AttackTarget, segment: str) -> None:
    """Request every route that has a placeholder in its path."""
    paths = [re.sub(r"\{[^}]+\}", lambda _: segment, route.path) for route in ROUTES if route.path_argument]
    for path in [*paths, f"/api/v1/tools/{segment}", f"/mcp/{segment}", f"/{segment}"]:
        shot = target.request("POST" if "/tools/" in path or path.startswith("/mcp") else "GET", path)
        assert shot.status < 500, (path, shot.text)


# -- names that look alike or are equal after folding ----------------------------------------------------------------

TWINS = {
    "decomposed": ("caf\u00e9", "cafe\u0301"),
    "case": ("lantern", "LANTERN"),
    "right-to-left-override": ("beacon", "bea\u202econ"),
    "zero-width": ("anchor", "anc\u200bhor"),
    "fullwidth": ("buoy", "\uff42uoy"),
    "byte-order-mark": ("wharf", "\ufeffwharf"),
}


@pytest.mark.parametrize("case", TWINS)
@pytest.mark.parametrize("era", ERAS)
def test_a_lookalike_name_never_replaces_another_file(target: AttackTarget, case: str, era: Era) -> None:
    pages: dict[str, str] = {}
    files: dict[str, str] = {}
    for number, name in enumerate(f"{name}-{era}" for name in TWINS[case]):
        content = f"words of writer {number}"
        for arguments in ({"title": name}, {"title": f"Other {name}", "slug": name}):
            page = target.fire("create_page", {**arguments, "content": content}, era=era)
            if page.code is None:
                assert pages.setdefault(page.result["slug"], content) == content, "two pages got the same slug"
            assert page.code in (None, "conflict", "invalid_request"), page.text
        stored = target.fire("km-storetext", {"content": content, "destination": f"docs/{name}.md"}, era=era)
        if stored.code is None:
            assert files.setdefault(stored.result["relative_path"], content) == content, "overwritten"
        assert stored.code in (None, "conflict", "invalid_request"), stored.text
    assert pages
    assert files
    for slug, content in pages.items():
        assert content in target.fire("get_page", {"slug": slug}, era=era).text
    target.assert_unharmed(may_change=WRITTEN)
    for path, content in files.items():
        assert content in (target.root / path).read_text(encoding="utf-8")
