"""A1 to A4, A10, A11: words that want to be paths, in every argument, address and blank that takes a word."""

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
"""Arguments of these names get every word; of all other strings each word gets some."""
READS = re.compile(r"path|slug|dest|source|id(entifier)?$|glob|file|recipe|^name|url|spec|cursor|key$")

WORDS: dict[str, str] = {
    "A1-dots": "../../etc/passwd",
    "A1-dots-to-canary": "../outside/secret.md",
    "A1-backslashes": "..\\..\\outside\\secret.md",
    "A1-dots-inside": "a/../../outside/secret.md",
    "A1-doubled-dots": "....//....//outside/secret.md",
    "A1-encoded": "%2e%2e%2foutside%2fsecret.md",
    "A1-encoded-twice": "%252e%252e%252foutside%252fsecret.md",
    "A1-overlong": "..%c0%afoutside%c0%afsecret.md",
    "A2-absolute": "/etc/passwd",
    "A2-absolute-canary": "{folder}/outside/secret.md",
    "A2-drive": "C:\\x",
    "A2-drive-relative": "C:x",
    "A2-share": "\\\\srv\\share",
    "A2-home": "~/.ssh/id_rsa",
    "A2-file-url": "file:///etc/passwd",
    "A3-nul": "harbour\0.md",
    "A3-newline": "harbour\nnext",
    "A3-carriage-return": "harbour\rnext",
    "A3-long-name": "n" * 4096,
    "A3-long-component": "docs/" + "é" * 150 + "/x.md",
    "A3-empty-segment": "docs//x.md",
    "A3-trailing-dot": "docs/x.md.",
    "A3-trailing-space": "docs/x.md ",
    "A3-device": "docs/CON.md",
    "A3-stream": "docs/x.md:hidden",
    "A3-lone-surrogate": "docs/\ud800.md",
    "A4-sibling-absolute": "{folder}/kb_evil/x.md",
    "A4-sibling-relative": "../kb_evil/x.md",
    "A4-the-root-itself": "{folder}/kb",
    "A11-citation-with-dots": "src/main.rs:42:../../x",
    "A11-line-zero": "src/reader.py:0",
    "A11-line-negative": "src/reader.py:-1",
    "A11-line-huge": "src/reader.py:1000000000000",
    "A11-line-of-many-digits": "src/reader.py:" + "9" * 5000,
    "A11-canary-line": "../outside/secret.md:3",
}
WRITTEN = ("notes/*.md", "docs/*.md", "docs/*.txt")
"""Where the writing tools may put a word that turned out to be a harmless title."""


def echoes(word: str) -> list[str]:
    """The caller's own word, whole or cut, which an error may say again."""
    return [word, *(word[:length] for length in (120, 100, 64, 40) if len(word) > length)]


Listed = list[dict[str, Any]]
Blanks = tuple[Listed, Listed]
"""Templates of resources, and prompts."""


@pytest.fixture(scope="module")
def tools(target: AttackTarget) -> Listed:
    """All but those of the odd plugin, some of which sleep or fail on purpose."""
    return [tool for tool in target.listed("tools/list", "tools") if not tool["name"].startswith("odd_")]


@pytest.fixture(scope="module")
def blanks(target: AttackTarget) -> Blanks:
    """All but those of the odd plugin, some of which are broken on purpose."""
    templates = target.listed("resources/templates/list", "resourceTemplates")
    prompts = target.listed("prompts/list", "prompts")
    return (
        [template for template in templates if not template["uriTemplate"].startswith("odd:")],
        [prompt for prompt in prompts if not prompt["name"].startswith("odd_")],
    )


def targets(target: AttackTarget, tools: Listed, case: str = "A1-dots") -> Iterator[tuple[Slot, Era]]:
    """The places to fill: half of them here and the other half on the other transport, in the one era and the other, and the
    next word the other way round."""
    turn = list(WORDS).index(case)
    is_http = target.transport == "http"
    for number, slot in enumerate(slot for tool in tools for slot in slots(tool)):
        name = str(slot.path[-2] if slot.path[-1] == 0 else slot.path[-1])
        if "{folder}" in WORDS[case] and not READS.search(name):
            continue  # a title may say what it likes, and would be found again by the next search
        if (number + turn) % 2 == is_http and (PATH_LIKE.search(name) or turn // 2 % 4 == number // 2 % 4):
            yield slot, ERAS[(number // 2 + turn // 2) % 2]


def test_the_arguments_that_the_list_of_attacks_names_are_found_by_their_schemas(
    target: AttackTarget, tools: Listed
) -> None:
    found = {slot.name for word in ("A1-dots", "A1-backslashes") for slot, _ in targets(target, tools, word)}
    found |= {slot.name for slot, _ in targets(target, tools, "A1-dots-to-canary")}
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
def test_no_word_is_a_way_out_of_the_project(target: AttackTarget, tools: Listed, blanks: Blanks, case: str) -> None:
    word = WORDS[case].replace("{folder}", str(target.folder))
    segment = quote(word, safe="", errors="surrogatepass")
    for slot, era in targets(target, tools, case):
        target.fire(slot.tool, slot.filled(word), era=era)
    fire_at_blanks(target, blanks, word, segment)
    if target.transport == "http":
        fire_at_routes(target, segment)
    # What was answered outside a tool is no refusal, and leaves no line.
    owed = [shot for shot in target.shots if shot.code is not None or shot.what.startswith("tools/call")]
    target.assert_unharmed(entries=len(owed), may_change=WRITTEN, shown=[*echoes(word), segment])


def fire_at_blanks(target: AttackTarget, blanks: Blanks, word: str, segment: str) -> None:
    """Resources, completions and prompts, with the word in every blank."""
    templates, prompts = blanks
    for number, template in enumerate(templates):
        uri = template["uriTemplate"]
        if number % 2 == (target.transport == "http"):
            continue
        spelling = segment if number // 2 % 2 else word
        filled = re.sub(r"\{[^}]+\}", spelling.replace("\\", r"\\"), uri)
        target.ask("resources/read", {"uri": filled}, era=ERAS[number // 4 % 2])
        if number % 4 == 0:
            blank = re.findall(r"\{\+?([^}]+)\}", uri)[-1]
            reference = {"type": "ref/resource", "uri": uri}
            target.ask("completion/complete", {"ref": reference, "argument": {"name": blank, "value": word}})
    for prompt in prompts:
        names = [argument["name"] for argument in prompt.get("arguments", ())]
        target.ask("prompts/get", {"name": prompt["name"], "arguments": dict.fromkeys(names, word)})
    for uri in (word, f"duvet:///{word}", f"file://{word}"):
        target.ask("resources/read", {"uri": uri})
    target.ask("resources/subscribe", {"uri": f"duvet:///citations/{word}"})


def fire_at_routes(target: AttackTarget, segment: str) -> None:
    """Every route with a blank in its path."""
    paths = [re.sub(r"\{[^}]+\}", lambda _: segment, route.path) for route in ROUTES if route.path_argument]
    for path in [*paths, f"/api/v1/tools/{segment}", f"/mcp/{segment}", f"/{segment}"]:
        shot = target.request("POST" if "/tools/" in path or path.startswith("/mcp") else "GET", path)
        assert shot.status < 500, (path, shot.text)


# -- A10: names that look or fold alike ----------------------------------------------------------------------------------

TWINS = {
    "A10-decomposed": ("caf\u00e9", "cafe\u0301"),
    "A10-case": ("lantern", "LANTERN"),
    "A10-right-to-left-override": ("beacon", "bea\u202econ"),
    "A10-zero-width": ("anchor", "anc\u200bhor"),
    "A10-fullwidth": ("buoy", "\uff42uoy"),
    "A10-byte-order-mark": ("wharf", "\ufeffwharf"),
}


@pytest.mark.parametrize("case", TWINS)
@pytest.mark.parametrize("era", ERAS)
def test_a_name_that_looks_like_another_never_takes_its_place(target: AttackTarget, case: str, era: Era) -> None:
    pages: dict[str, str] = {}
    files: dict[str, str] = {}
    for number, name in enumerate(f"{name}-{era}" for name in TWINS[case]):
        content = f"words of writer {number}"
        for arguments in ({"title": name}, {"title": f"Other {name}", "slug": name}):
            page = target.fire("create_page", {**arguments, "content": content}, era=era)
            if page.code is None:
                assert pages.setdefault(page.result["slug"], content) == content, "the same slug was given twice"
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
