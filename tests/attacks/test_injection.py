"""Text from callers and files stays text in queries, patterns, templates, reports, logs and metrics."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import run_in_process
from tests.raw_clients import HttpClient, rpc

from .argument_slots import Slot, slots
from .target import ENVIRONMENT_SECRET, ERAS, FULL, TRANSPORTS, AttackTarget, open_target

ECHO = """version: 1
summary: Returns its argument.
variables:
  value: {type: string}
steps:
  - id: search
    tool: search
    params: {query: "${vars.value}"}
outputs:
  value: "${vars.value}"
  twice: "<${vars.value}>"
"""
FEW_NAMES = 100
NAMES = 100_000 if FULL else FEW_NAMES
NESTED = "[" * 5000
BILLION = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n"
HOSTILE_TEXTS: dict[str, str] = {
    "python-object": "a: !!python/object/apply:os.system ['touch pwned']\n",
    "alias-bomb": BILLION,
    "a-million-keys": "".join(f"k{number}: 1\n" for number in range(25_000)),
    "duplicate-keys": "version: 1\nversion: 1\n",
    "nested": f"version: {NESTED}\n",
    "merge-key": "<<: {version: 1}\nsteps: []\n",
    "two-documents": "version: 1\n---\nversion: 1\n",
    "huge-number": f"version: {'9' * 10_000}\n",
}
FILES: dict[str, str | bytes] = {
    "recipes/echo.yaml": ECHO,
    **{f"recipes/{name.lower()}.yaml": text for name, text in HOSTILE_TEXTS.items()},
    **{f"notes/{name.lower()}.md": f"---\n{text}---\n\n# {name}\n\nText.\n" for name, text in HOSTILE_TEXTS.items()},
    "notes/norway.md": "---\ntitle: no\ntags: [no, NO, on, 010, 1e400]\n---\n\nCold.\n",
}
WRITTEN = ("*.md",)
"""Where writing tools may create a file if the text is a harmless title."""


@pytest.fixture(scope="module", params=TRANSPORTS)
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackTarget]:
    with open_target(request.param, tmp_path_factory.mktemp("injection"), files=FILES) as running:
        running.fire("km-ingest-trigger", {"profile": "attack"}, timeout=60)
        running.record_state()
        yield running


@pytest.fixture(scope="module")
def every_slot(target: AttackTarget) -> list[Slot]:
    """Every argument of every tool that takes a string."""
    found = [slot for tool in target.listed("tools/list", "tools") for slot in slots(tool)]
    assert len(found) > 50
    return found


SEARCHES: tuple[tuple[str, Callable[[str], dict[str, Any]]], ...] = (
    ("km-search", lambda text: {"query": text}),
    ("km-search-batch", lambda text: {"queries": [text, text]}),
    ("km-graph-search", lambda text: {"term": text[:500]}),
    ("search", lambda text: {"query": text[:1000]}),
    ("search_requirements", lambda text: {"query": text[:1000]}),
)
QUERIES: dict[str, str] = {
    "quote": '"',
    "star": "*",
    "near": "NEAR(level minute, 2)",
    "near-open": "NEAR(",
    "column": "body:level OR title:level",
    "column-of-none": "nosuch:level",
    "operators-alone": "AND AND OR NOT",
    "caret": "^level",
    "minus": "-level -",
    "brackets": "((((level",
    "braces": "{level} [a TO b]",
    "regex": "/le.*l/",
    "boost": "level^1e400",
    "slop": '"a b"~99999999999',
    "backslash": "\\",
    "semicolon": "level; --",
    "ten-thousand-terms": " ".join(f"t{number}" for number in range(10_000))[:4000],
    "marks-only": "\u0301\u200d\u202e",
    "nul": "a\0b",
}


@pytest.mark.parametrize("case", QUERIES)
def test_query_syntax_cannot_break_a_search(target: AttackTarget, case: str) -> None:
    for number, (tool, arguments) in enumerate(SEARCHES):
        shot = target.fire(tool, arguments(QUERIES[case]), era=ERAS[number % 2])
        assert shot.code in (None, "invalid_request"), shot.text
        assert shot.seconds < 5 * target.allowed_seconds
    target.assert_unharmed()


TEXTS: dict[str, str] = {
    "sql-statement": "x'; DROP TABLE artifacts; --",
    "sql-condition": "' OR '1'='1",
    "sql-union": '") union select * from sqlite_master --',
    "like-wildcards": "%_\\",
    "redos": "(a+)+$" + "a" * 60 + "!",
    "option": "--output=pwned",
    "configuration": "-c core.pager=touch pwned",
    "command": "HEAD;touch pwned",
    "substitution": "$(touch pwned)",
    "pipe": "main|touch pwned",
    "template": "{{7*7}} {{config}} ${TARGET_SECRET} ${vars.value} $TARGET_SECRET %TARGET_SECRET%",
    "forged-line": 'x\n{"event": "forged", "level": "info"}\r\n{"event": "forged"}',
}


@pytest.mark.parametrize("case", TEXTS)
def test_no_argument_is_executed(target: AttackTarget, every_slot: list[Slot], case: str) -> None:
    text = TEXTS[case]
    part = (list(TEXTS).index(case) + TRANSPORTS.index(target.transport)) % 2
    for number, slot in enumerate(every_slot if FULL else every_slot[part::2]):
        shot = target.fire(slot.tool, slot.filled(text), era=ERAS[number % 2])
        assert shot.seconds < 5 * target.allowed_seconds, f"{slot.name} took {shot.seconds} seconds"
    target.assert_unharmed(may_change=WRITTEN, entries=0)
    assert not (target.root / "pwned").exists()
    assert not any(line.get("event") == "forged" for line in target.process.log_lines())


def test_the_index_is_intact_after_these_attacks(target: AttackTarget) -> None:
    found = target.fire("km-search", {"query": "water level"}).result["results"]
    assert "docs/gauge.md" in [result["chunk"]["artifact_path"] for result in found]
    health = target.fire("km-health-summary")
    assert health.code is None
    target.assert_unharmed()


FILTERS: dict[str, dict[str, Any]] = {
    "kind": {"symbol_kinds": ["function' OR 1=1 --"]},
    "type": {"artifact_types": ["doc') OR 1=1 --"]},
    "tag": {"tags": ["') OR 1=1 --", "%"]},
    "moment": {"updated_after": "2024-01-01' OR '1'='1"},
    "moment-before-time": {"updated_after": "0001-01-01T00:00:00+23:59"},
    "moment-behind-time": {"updated_after": "9999-12-31T23:59:59-23:59"},
    "days": {"max_age_days": "1 OR 1=1"},
    "unknown-key-with-sql": {"tags) OR 1=1 --": ["x"]},
    "unknown-key-of-an-attribute": {"__class__": ["x"], "where": {"$ne": None}},
    "unknown-keys-by-the-thousand": {f"k{number}": ["x"] for number in range(5000)},
    "wrong-shape": {"tags": {"$regex": ".*"}},
}


@pytest.mark.parametrize("case", FILTERS)
def test_no_filter_can_be_widened_by_injection(target: AttackTarget, case: str) -> None:
    for era in ERAS:
        shot = target.fire("km-search", {"query": "level", "filters": FILTERS[case]}, era=era)
        assert shot.code == "invalid_request" or (case.startswith("unknown-key") or shot.result["results"] == []), (
            shot.text
        )
    target.assert_unharmed()


@pytest.mark.parametrize(
    "arguments",
    [
        {"start": {"label": "Symbol) DETACH DELETE n //"}},
        {"start": {"label": "Symbol", "where": [{"property": "key' OR '1'='1", "op": "eq", "value": "x"}]}},
        {"start": {"label": "Symbol"}, "steps": [{"types": ["CALLS*1..99"]}]},
        {"start": {"label": "Symbol", "key": "x' OR '1'='1"}},
        {"start": {"label": "Symbol", "where": [{"property": "kind", "op": "=~", "value": "(a+)+$"}]}},
    ],
    ids=["label", "property", "edge-type", "key", "operator"],
)
def test_no_graph_query_can_be_widened_by_injection(target: AttackTarget, arguments: dict[str, Any]) -> None:
    for era in ERAS:
        shot = target.fire("km-graph-query", arguments, era=era)
        assert shot.code in ("invalid_request", "not_found") or shot.result["rows"] == [], shot.text
    target.assert_unharmed()


@pytest.mark.parametrize("term", ["%", "_", "re_der", "r%r", "\\", "\\%", "*", "re?der"])
def test_a_wildcard_in_a_graph_search_is_literal(target: AttackTarget, term: str) -> None:
    found = target.fire("km-graph-search", {"term": term, "limit": 50}).result["results"]
    assert [hit for hit in found if term.lower() not in json.dumps(hit, ensure_ascii=False).lower()] == [], found
    assert len(found) < 50
    target.assert_unharmed()


@pytest.mark.parametrize("transport", TRANSPORTS if FULL else ["http"], ids=lambda t: f"redos-in-any-pattern-{t}")
def test_no_pattern_of_the_project_is_slow_to_match(transport: Any, tmp_path: Path) -> None:
    stars = "*a" * 40 + "b"
    files = {
        ".gitignore": f"{stars}\n**/{stars}/**/{stars}\n[a-{'a' * 200}]{stars}\n",
        ".contextiveignore": "".join(f"{'*a' * count}*b\n" for count in range(1, 60)),
        ".duvet/config.toml": "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n"
        f'[[source]]\npattern = "**/{stars}"\n[[source]]\npattern = "{"**/*/" * 30}x"\n',
        **{f"src/{'a' * 100}{number}/{'a' * 120}.py": "x = 1\n" for number in range(20)},
        "docs/redos.md": "# "
        + "a" * 50_000
        + "!\n\n"
        + "`" * 20_000
        + "\n"
        + "[" * 20_000
        + "\n"
        + " \t" * 20_000
        + "x\n",
    }
    with open_target(transport, tmp_path, files=files) as target:
        started = time.monotonic()
        assert target.fire("km-ingest-trigger", {"profile": "attack"}, timeout=60).code is None
        for tool, arguments in (("list_uncited_requirements", {}), ("km-search", {"query": "aaaa"})):
            assert target.fire(tool, arguments).code is None
        assert time.monotonic() - started < 20 * target.allowed_seconds
        target.assert_unharmed()


def test_one_tool_takes_git_revisions(every_slot: list[Slot]) -> None:
    # If another tool gets such an argument, add it to the next test.
    names = {"ref", "revision", "base", "head", "commit", "branch", "as_of"}
    assert {slot.tool for slot in every_slot if names & {str(step) for step in slot.path}} == {"review_changes"}


REVISIONS: tuple[str, ...] = (
    "--output=pwned",
    "--exec=touch pwned",
    "-c core.pager='touch pwned'",
    "-",
    "--all",
    "HEAD;touch pwned",
    "$(touch pwned)",
    "HEAD --output=pwned",
    "HEAD\n--output=pwned",
    "HEAD\0--output=pwned",
    "HEAD:../../outside",
    ":(glob)**",
    "ext::sh -c 'touch pwned'",
    "HEAD" + "^0" * 120,
    "@{-1}",
)


@pytest.mark.parametrize("argument", ["base", "head"])
def test_no_revision_is_an_option_or_a_command_of_git(tmp_path: Path, argument: str) -> None:
    with open_target("stdio", tmp_path, files=FILES) as target:
        _hostile_repository(target.root)
        for number, revision in enumerate(REVISIONS):
            shot = target.fire("review_changes", {argument: revision}, era=ERAS[number % 2])
            assert shot.code in ("invalid_request", "not_found", None), shot.text
            assert shot.code is not None or revision.startswith("HEAD^0"), revision
        assert not list(tmp_path.rglob("pwned"))


def _hostile_repository(root: Path) -> None:
    """Create a repository in which every setting that starts a program starts one that creates a file."""
    mark = root / "mark.sh"
    mark.write_text(f"#!/bin/sh\ntouch {root.parent}/pwned\ncat\n", encoding="utf-8")
    mark.chmod(mark.stat().st_mode | stat.S_IXUSR)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(root)]
    quiet = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *command], check=True, capture_output=True, env=quiet)
    hooks = root / ".git" / "evil-hooks"
    hooks.mkdir()
    for name in ("post-checkout", "post-index-change", "pre-auto-gc", "reference-transaction", "fsmonitor-watchman"):
        (hooks / name).symlink_to(mark)
    settings = {
        "core.fsmonitor": mark, "core.hooksPath": hooks, "core.pager": mark, "core.sshCommand": mark, "core.editor": mark,
        "core.askPass": mark, "core.gitProxy": mark, "core.alternateRefsCommand": mark, "diff.external": mark, "pager.log": mark,
        "diff.evil.command": mark, "diff.evil.textconv": mark, "filter.evil.clean": mark, "filter.evil.smudge": mark,
        "filter.evil.process": mark, "gpg.program": mark, "log.showSignature": "true", "credential.helper": f"!{mark}",
        "uploadpack.packObjectsHook": mark, "protocol.ext.allow": "always", "remote.origin.url": f"ext::{mark}",
        "remote.origin.promisor": "true", "extensions.partialClone": "origin", "alias.log": f"!{mark}",
        "alias.ls-tree": f"!{mark}",
    }  # fmt: skip
    text = (root / ".git" / "config").read_text(encoding="utf-8").replace("ormatversion = 0", "ormatversion = 1")
    for name, value in settings.items():
        section, _, key = name.rpartition(".")
        head, _, inner = section.partition(".")
        text += f'[{head} "{inner}"]\n' if inner else f"[{head}]\n"
        text += f"\t{key} = {value}\n"
    (root / ".git" / "config").write_text(text, encoding="utf-8")
    (root / ".gitattributes").write_text("* filter=evil diff=evil\n", encoding="utf-8")
    (root / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = x\n\turl = ext::{mark}\n', encoding="utf-8")
    (root / "src" / "reader.py").write_text("def read_level() -> float:\n    return 2.0\n", encoding="utf-8")


@pytest.mark.parametrize("transport", TRANSPORTS if FULL else ["stdio"], ids=lambda t: f"hostile-repository-{t}")
def test_a_hostile_repository_starts_no_program(transport: Any, tmp_path: Path) -> None:
    with open_target(transport, tmp_path, prepare=_hostile_repository) as target:
        assert target.fire("km-ingest-trigger", {"profile": "attack"}, timeout=60).code is None
        found = target.fire("km-search", {"query": "water level"}).result["results"]
        assert any(result["chunk"].get("git_commit") or "docs/gauge.md" in json.dumps(result) for result in found)
        for tool in ("km-lifecycle-report", "km-coverage-summary", "km-health-summary", "list_uncited_requirements"):
            target.fire(tool)
        target.assert_unharmed(may_change=[".git/index"])
        assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("case", HOSTILE_TEXTS)
def test_a_hostile_file_does_not_affect_others(target: AttackTarget, case: str) -> None:
    name = case.lower()
    recipe = target.fire("km-recipe-run", {"recipe": name})
    assert recipe.code == "schema_invalid", recipe.text
    assert recipe.seconds < 5 * target.allowed_seconds
    page = target.fire("get_page", {"slug": name})
    assert page.code is None or page.code == "not_found", page.text
    assert target.fire("km-recipe-run", {"recipe": "echo", "vars": {"value": "level"}}).code is None
    assert not (target.root / "pwned").exists()
    target.assert_unharmed()


def test_the_title_no_is_not_read_as_false(target: AttackTarget) -> None:
    page = target.fire("get_page", {"slug": "no"})
    assert page.result["title"] == "no", page.text
    target.assert_unharmed()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", f"server: {NESTED}"),
        ("a.yaml", BILLION),
        ("a.yaml", HOSTILE_TEXTS["python-object"]),
        ("a.json", '{"server":' * 20_000),
        ("a.json", '{"server": {"port": 1, "port": 2}}'),
        ("a.toml", "a." * 50_000 + "b = 1"),
        ("a.toml", f"a = {NESTED}"),
    ],
    ids=[f"config-{n}" for n in ("nested", "aliases", "object", "json-deep", "json-twice", "toml-key", "toml-deep")],
)
def test_the_server_does_not_start_with_a_hostile_configuration_and_says_why(
    name: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    done = run_in_process("serve", "--stdio", "--config", name, cwd=tmp_path)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert f"{name}:" in done.stderr
    assert len(done.stderr) < 5000
    assert done.stdout == ""


@pytest.mark.parametrize(
    "value",
    [
        "{{7*7}}",
        "{{config}}",
        "${TARGET_SECRET}",
        "${vars.value}",
        "$${x}",
        "%(value)s",
        "{0.__class__}",
        "<%= 7*7 %>",
        "`id`",
    ],
    ids=str,
)
def test_a_variable_of_a_recipe_is_never_a_template(target: AttackTarget, value: str) -> None:
    for era in ERAS:
        shot = target.fire("km-recipe-run", {"recipe": "echo", "vars": {"value": value}}, era=era)
        assert shot.code is None, shot.text
        outputs = shot.result["outputs"]
        assert outputs == {"value": value, "twice": f"<{value}>"}
        assert ENVIRONMENT_SECRET not in shot.text
    target.assert_unharmed()


MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg onload=alert(1)>"


def test_a_report_escapes_markup_of_the_project(tmp_path: Path) -> None:
    project = tmp_path / "kb"
    files = {
        ".duvet/config.toml": "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n"
        '[[source]]\npattern = "src/*.rs"\n[[specification]]\nsource = "spec<b>.md"\n'
        '[report.html]\nissue-link = "javascript:alert(1)"\nblob-link = "javascript:alert(2)"\n',
        "spec<b>.md": f"# {MARKUP}\n\n## Other {MARKUP}\n\n## Rate\n\nA gauge MUST {MARKUP} and [go](javascript:alert(1)).\n",
        "src/<img src=x onerror=alert(1)>.rs": "//= spec<b>.md#rate\n//# A gauge MUST\n"
        f"//= spec<b>.md#rate\n//= type=todo\n//= feature={MARKUP}\n//= tracking-issue=javascript:alert(3)\n//# A gauge\n",
    }
    for name, text in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    done = run_in_process("report", "--html", "out.html", cwd=project)
    page = (project / "out.html").read_text(encoding="utf-8") if (project / "out.html").exists() else ""
    assert page, done.stderr
    assert "alert(1)" in page
    outside = re.sub(r"<script[^>]*type=\"application/json\"[^>]*>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"<script>alert|<img|<svg onload|onerror=alert\(1\)>", outside), (
        "markup of the project is not escaped"
    )
    assert not re.search(r"(?:href|src)\s*=\s*[\"']?\s*javascript:", page, re.IGNORECASE)


@pytest.mark.parametrize("field", ["name", "argument", "method", "client"])
def test_no_text_of_a_caller_can_forge_a_log_line(target: AttackTarget, field: str) -> None:
    forged = 'x\n{"event": "forged"}\n\u2028{"event": "forged"}\x85{"event":"forged"}\x1b[2J'
    match field:
        case "name":
            target.fire(forged)
        case "argument":
            target.fire("get_page", {forged: forged})
        case "method":
            target.ask(forged)
        case _:
            info = {"protocolVersion": forged, "capabilities": {}, "clientInfo": {"name": forged, "version": forged}}
            if target.web is None:
                target.ask("initialize", info)
            else:
                target.http_client().mcp(rpc("initialize", info), {"X-Request-ID": "a b", "User-Agent": "forged"})
    target.assert_unharmed(entries=0, allowed_texts=[forged, json.dumps(forged)[1:-1]])
    text = target.process.log_text
    assert not any(line.get("event") == "forged" for line in target.process.log_lines())
    assert "\x1b" not in text
    assert "\u2028" not in text


def _series(web: HttpClient) -> set[str]:
    text = web.get("/metrics").text
    return {line.rpartition(" ")[0] for line in text.splitlines() if line and not line.startswith("#")}


def _resident(target: AttackTarget) -> int:
    text = Path(f"/proc/{target.process.process.pid}/status").read_text(encoding="utf-8")
    return int(text.split("VmRSS:")[1].split()[0]) * 1024


def test_no_name_sent_by_a_caller_creates_a_metric_series(target: AttackTarget) -> None:
    if target.web is None:
        pytest.skip("metrics are served over HTTP")
    web = target.http_client()
    target.fire("no-such-tool", era="stateless")
    web.request("POST", "/api/v1/tools/none", b"{}", {"Content-Type": "application/json"})
    before = _series(web)
    before_bytes = _resident(target)
    for number in range(NAMES):
        # The first names are sent over every route, the others over one route each in turn.
        route = number % 4 if number >= FEW_NAMES else None
        if route in (None, 0, 1):
            target.fire(f"tool-{number}", {f"argument-{number}": 1}, era=ERAS[number % 2])
        if route in (None, 2):
            web.request("POST", f"/api/v1/tools/none-{number}", b"{}", {"Content-Type": "application/json"})
        if route in (None, 3):
            web.get(f"/api/v1/graph/nodes/none-{number}")
        if number >= FEW_NAMES:
            target.shots.clear()  # all were answered; keeping them would cost memory
    grown = _series(web) - before
    assert not any("none-" in name or "tool-" in name or "argument-" in name for name in grown)
    assert len(grown) < 60  # series of routes and errors that are new
    assert _resident(target) < before_bytes + 64 * 1024**2
    target.assert_unharmed(entries=0)
