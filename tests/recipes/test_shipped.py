"""The built-in recipes, run by `km-recipe-run` with the real tools on a real index."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextive.config import ConfigRequest, load_config
from contextive.errors import AssertFailed, Forbidden, NotFound, RecipeNotFound
from contextive.packs import BUILTIN
from contextive.registry import OWNER_AS_MAINTAINER, OWNER_AS_READER, Caller
from contextive.registry.budget import estimated_tokens
from contextive.server.host import Host
from tests.ingest.test_notes_service import write
from tests.raw_clients import HttpClient, StdioClient, serving_http

ADMIN = "admin-token-fedcba9876543210"
READER = "reader-token-0123456789abcdef"
SETTINGS = {"CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "dummy", "KM_ADMIN_TOKEN": ADMIN, "KM_READER_TOKEN": READER}


def make_project(root: Path) -> Path:
    write(root, "README.md", "# Pump station\n\nThe README of the pump station: how the valves are driven.\n")
    write(root, "docs/spec.md", "# Spec\n\n## Pump\n\nThe pump MUST stop.\n")
    write(root, "src/valves/drive.py", "def drive(valve: str) -> str:\n    return valve\n")
    write(root, "notes/pump.md", "The pump stops. [[README]]\n")
    return root


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    root = make_project(tmp_path)
    request = ConfigRequest(project=root, builtin_packs=frozenset(BUILTIN), environ=SETTINGS)
    host = Host(load_config(request), mode="in-process")
    yield host
    host.close()


def run(host: Host, recipe: str, caller: Caller = OWNER_AS_MAINTAINER, **variables: Any) -> Any:
    return call(host, "km-recipe-run", caller, recipe=recipe, vars=variables)


def call(host: Host, tool: str, caller: Caller = OWNER_AS_MAINTAINER, **arguments: Any) -> Any:
    ctx = host.context(caller, door="test", profile=host.profile, request_id="r1")
    surface = host.surface(host.profile, caller.scope)
    return asyncio.run(host.dispatcher.call(surface, tool, arguments, ctx)).data


##= docs/spec/models-and-recipes.md#km-recipe-run
##% The concise result of a run MUST fit into 1,500 tokens and say what is left out.
def test_a_long_result_is_shortened_and_complete_on_request(host: Host) -> None:
    for number in range(60):
        write(host.loaded.project, f"src/empty_module_with_a_long_name_{number}.py", "\n")
    short = run(host, "stale-audit")
    full = call(host, "km-recipe-run", recipe="stale-audit", detail="full")
    assert estimated_tokens(short) <= 1_500
    assert len(full["outputs"]["missing_artifacts"]) >= 60
    left_out = short["omitted"]["missing_artifacts"]
    assert len(short["outputs"]["missing_artifacts"]) + left_out == len(full["outputs"]["missing_artifacts"])
    assert [step["status"] for step in short["steps"]] == ["success", "success"]


def test_release_prep_indexes_checks_and_backs_up(host: Host) -> None:
    outputs = run(host, "release-prep", smoke_query="pump station")["outputs"]
    assert outputs["run_id"]
    assert outputs["coverage"]["artifact_total"] >= 4
    assert outputs["first_hit"] == "README.md"
    assert set(outputs["lifecycle"]) >= {"stale_docs"}
    assert (host.loaded.project / ".contextive" / outputs["backup"]).is_file()


##= docs/spec/models-and-recipes.md#recipe-sources
##% The recipes `daily-health`, `release-prep`, `stale-audit`, `subsystem-freshness`, `post-restore-verify`,
##% `authoring-loop`, `feedback-triage` and `spec-audit` MUST ship.
def test_the_other_recipes_run_on_an_existing_index(host: Host) -> None:
    call(host, "km-ingest-trigger", profile="scheduled")
    health = run(host, "daily-health")["outputs"]
    assert health["run_id"]
    assert health["summary"]["chunk_count"] > 0
    assert isinstance(health["lifecycle"], dict)
    stale = run(host, "stale-audit")["outputs"]
    assert {"summary", "stale_docs", "isolated", "missing_tests", "missing_artifacts"} == set(stale)
    restored = run(host, "post-restore-verify", smoke_query="pump")["outputs"]
    assert restored["first_hit"]
    assert run(host, "spec-audit")["outputs"]["uncited"]["total"] >= 0
    fresh = run(host, "subsystem-freshness", subsystem="Valves")["outputs"]
    assert fresh["indexed_at"] > 0
    voted = run(host, "feedback-triage", query="pump", vote=1, note="good")["outputs"]
    assert voted["recorded"]["status"] == "success"
    written = run(host, "authoring-loop", title="Sluice gates", content="Sluice gates open inwards.")["outputs"]
    assert (host.loaded.project / written["path"]).is_file()
    assert written["path"] in {result["chunk"]["artifact_path"] for result in written["results"]}


def test_checks_before_a_release_and_after_a_restore_pass_on_a_project_without_a_readme(host: Host) -> None:
    (host.loaded.project / "README.md").unlink()
    prepared = run(host, "release-prep")
    assert prepared["success"] is True
    assert prepared["outputs"]["first_hit"]
    assert run(host, "post-restore-verify")["outputs"]["first_hit"]


def test_a_project_that_was_never_indexed_is_not_healthy(host: Host) -> None:
    with pytest.raises(AssertFailed):
        run(host, "daily-health")


##= docs/spec/models-and-recipes.md#step-execution
##% Each run except a dry run MUST add one line to the recipe audit log.
def test_each_run_writes_one_audit_line(host: Host) -> None:
    run(host, "spec-audit")
    call(host, "km-recipe-run", recipe="spec-audit", dry_run=True)
    with pytest.raises(RecipeNotFound):
        run(host, "nope")
    with pytest.raises(AssertFailed):
        run(host, "daily-health")
    log = host.loaded.project / ".contextive" / "audit" / "recipes.log"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [(line["recipe"], line["success"]) for line in lines] == [("spec-audit", True), ("daily-health", False)]


##= docs/spec/models-and-recipes.md#km-recipe-run
##% The tool `km-recipe-run` MUST require the maintainer scope.
def test_a_reader_cannot_run_recipes_or_their_tools(host: Host) -> None:
    with pytest.raises((NotFound, Forbidden)):
        run(host, "release-prep", OWNER_AS_READER)


def test_recipes_over_real_mcp_report_progress_and_the_specified_codes(tmp_path: Path) -> None:
    root = make_project(tmp_path)
    with StdioClient("serve", "--stdio", cwd=root, env=SETTINGS) as pipe:
        pipe.initialize()
        params = {"name": "km-recipe-run", "arguments": {"recipe": "release-prep"}, "_meta": {"progressToken": "p"}}
        result = pipe.result("tools/call", params)["structuredContent"]
        assert (result["status"], len(result["steps"])) == ("success", 6)
        progress = [n["params"] for n in pipe.notifications if n["method"] == "notifications/progress"]
        assert (progress[-1]["progress"], progress[-1]["total"]) == (6, 6)
        dry = {**params, "arguments": {"recipe": "release-prep", "dry_run": True}}
        planned = pipe.result("tools/call", dry)["structuredContent"]
        assert {step["status"] for step in planned["steps"]} == {"skipped"}
        assert planned["outputs"] == {}
        missing = pipe.result("tools/call", {"name": "km-recipe-run", "arguments": {"recipe": "nope"}})
        assert missing["isError"]
        assert json.loads(missing["content"][0]["text"])["error"]["code"] == "recipe_not_found"


##= docs/spec/models-and-recipes.md#step-execution
##% A recipe MUST NOT do anything that its caller may not do.
##= docs/spec/models-and-recipes.md#workflow-tools
##% A workflow MUST NOT do anything that its caller's scope does not allow.
def test_a_reader_over_http_cannot_run_maintainer_tools_through_a_workflow_or_recipe(tmp_path: Path) -> None:
    root = make_project(tmp_path)
    config = root / "given.json"
    workflows = {"chores": {"steps": [{"tool": "km-ingest-trigger"}]}}
    config.write_text(json.dumps({"workflows": workflows}), encoding="utf-8")
    with serving_http("--config", str(config), cwd=root, env=SETTINGS) as running:
        web: HttpClient = running.web
        for tool in ("km-recipe-run", "workflow.chores", "km-ingest-trigger"):
            body = {"recipe": "release-prep"} if tool == "km-recipe-run" else {}
            refused = web.post(f"/api/v1/tools/{tool}", body, {"Authorization": f"Bearer {READER}"})
            assert refused.status in (403, 404), (tool, refused.status, refused.json)
        done = web.post("/api/v1/tools/workflow.chores", {}, {"Authorization": f"Bearer {ADMIN}"})
        assert done.status == 200, done.json
