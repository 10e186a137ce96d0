"""Configured workflows as tools, and `km-recipe-run`: in one process through the host, and over real MCP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from contextive.config import ConfigRequest, TrustStore, load_config
from contextive.errors import AssertFailed, ConfigError, ContextiveError, InvalidRequest, ToolFailed
from contextive.packs import BUILTIN
from contextive.packs.knowledge_recipes import declare
from contextive.registry import OWNER_AS_MAINTAINER, OWNER_AS_READER, Caller, Pack, Scope, ToolResult
from contextive.server.host import Host
from tests.models.service import Service, model_service, refusal
from tests.raw_clients import StdioClient

WITHOUT_KNOWLEDGE = {"knowledge": {"enabled": False}}
"""The knowledge pack also has `km-recipe-run`; these tests declare it in a test pack."""
WORKFLOWS: dict[str, Any] = {
    "project_audit": {
        "description": "Say what to do first",
        "steps": [
            {"id": "open", "tool": "list_uncited_requirements", "params": {"level": "${vars.level}"}},
            {"model": "small", "prompt": "Which of these comes first?"},
        ],
    },
    "guarded": {
        "steps": [
            {
                "id": "first",
                "tool": "explain_requirement",
                "params": {"req_identifier": "${vars.requirement}"},
                "fallback": [{"tool": "contextive_server_info"}],
            }
        ]
    },
    "circle": {"steps": [{"tool": "workflow.guarded"}]},
}


def loaded_host(folder: Path, values: Mapping[str, Any], *extra: Pack) -> Host:
    file = folder / "given.json"
    file.write_text(json.dumps(values), encoding="utf-8")
    request = ConfigRequest(
        project=folder,
        explicit=file,
        environ={},
        trust=TrustStore(folder / "trust.json"),
        builtin_packs=frozenset(BUILTIN),
    )
    return Host(load_config(request), mode="in-process", extra_packs=extra)


def call(host: Host, tool: str, caller: Caller = OWNER_AS_READER, **arguments: Any) -> ToolResult:
    ctx = host.context(caller, door="test", profile=host.profile, request_id="r1")
    return asyncio.run(host.dispatcher.call(host.surface(host.profile, caller.scope), tool, arguments, ctx))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "docs" / "spec").mkdir(parents=True)
    (tmp_path / "docs" / "spec" / "a.md").write_text("# A\n\nThe pump MUST stop.\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def service() -> Iterator[Service]:
    with model_service() as running:
        yield running


def configured(service: Service, **more: Any) -> dict[str, Any]:
    provider = {"kind": "openai-compatible", "baseUrl": f"{service.url}/v1", "timeoutSeconds": 5}
    return {"workflows": WORKFLOWS, "providers": {"here": provider}, **more}


##= docs/spec/host.md#sections
##% The section `workflows` MUST hold workflows that chain tools.
##= docs/spec/models-and-recipes.md#workflow-tools
##% Each configured workflow MUST be offered as one tool.
def test_a_workflow_is_a_tool_with_typed_arguments(project: Path, service: Service) -> None:
    host = loaded_host(project, configured(service))
    tool = host.surface(host.profile, Scope.READER).tools["workflow.project_audit"]
    assert tool.description == "Say what to do first."
    assert tool.input_schema == {
        "type": "object",
        "properties": {"level": {"type": "string", "description": "Value for ${vars.level} in the workflow"}},
        "required": ["level"],
        "additionalProperties": False,
    }
    assert tool.output_schema is not None
    assert tool.annotations.read_only
    assert tool.annotations.open_world, "it asks a model"
    with pytest.raises(InvalidRequest, match="needs the argument 'level'"):
        call(host, tool.name)


##= docs/spec/models-and-recipes.md#workflow-tools
##% The steps of a workflow MUST run in order.
def test_a_workflow_returns_the_result_of_its_last_step(project: Path, service: Service) -> None:
    service.text = "The pump."
    host = loaded_host(project, configured(service))
    data = call(host, "workflow.project_audit", level="MUST").data
    assert data["status"] == "success"
    assert data["outputs"]["result"]["text"] == "The pump."
    assert [step["id"] for step in data["steps"]] == ["open", "step2"]
    assert service.prompts[0].startswith("Which of these comes first?\n\n{")
    assert "The pump MUST stop." in service.prompts[0], (
        "a prompt without templates gets the result of the previous step"
    )


def test_the_error_of_a_failed_step_contains_the_steps(project: Path, service: Service) -> None:
    service.script = [refusal(400)]
    host = loaded_host(project, configured(service))
    with pytest.raises(ToolFailed) as caught:
        call(host, "workflow.project_audit", level="MUST")
    error = caught.value.as_dict()
    assert error["code"] == "tool_failed"
    assert [(s["id"], s["status"]) for s in error["details"]["steps"]] == [("open", "success"), ("step2", "error")]


def test_a_fallback_replaces_a_failed_step_of_a_workflow(project: Path, service: Service) -> None:
    host = loaded_host(
        project, {**configured(service), "toolPacks": {"trace": {"blockedTools": ["explain_requirement"]}}}
    )
    data = call(host, "workflow.guarded", requirement="x").data
    assert [(s["id"], s["status"]) for s in data["steps"]] == [("first", "error"), ("first-fallback-1", "success")]
    assert data["outputs"]["result"]["name"] == "contextive-mcp"


##= docs/spec/models-and-recipes.md#workflow-tools
##% A workflow MUST NOT run workflows or recipes.
def test_a_workflow_cannot_run_workflows(project: Path, service: Service) -> None:
    host = loaded_host(project, configured(service))
    with pytest.raises(ToolFailed, match="runs recipes and cannot be a step"):
        call(host, "workflow.circle")


##= docs/spec/models-and-recipes.md#workflow-tools
##% A workflow MUST NOT do anything that its caller's scope does not allow.
def test_a_workflow_with_a_maintainer_tool_needs_the_maintainer_scope(project: Path) -> None:
    keys = Pack("keys", title="K", description="K")
    declare(keys)
    flows = {"chores": {"steps": [{"tool": "km-recipe-run", "params": {"recipe": "spec-audit"}}]}}
    host = loaded_host(project, {"workflows": flows, "toolPacks": WITHOUT_KNOWLEDGE}, keys)
    assert "workflow.chores" not in host.surface(host.profile, Scope.READER).tools
    tool = host.surface(host.profile, Scope.MAINTAINER).tools["workflow.chores"]
    assert not tool.annotations.read_only
    assert tool.safety_notes == "Calls km-recipe-run, with your scope."


##= docs/spec/models-and-recipes.md#workflow-tools
##% A workflow with a template that refers to a value that no earlier step and no variable provides MUST prevent the
##% server from starting.
@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        (
            {"tool": "t", "params": {"x": "${steps.later.y}"}},
            "workflows.w.steps[0].params: ${steps.later.y} is not an earlier step",
        ),
        ({"tool": "t", "params": {"x": "${file:x}"}}, "workflows.w: 'file:x' is not a path"),
        ({"model": "m", "prompt": "${captures.c}"}, "is not an earlier capture"),
    ],
)
def test_a_workflow_with_an_unknown_reference_prevents_the_start(
    project: Path, step: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded_host(project, {"workflows": {"w": {"steps": [step]}}})
    assert complaint in caught.value.message


def test_without_workflows_there_is_no_workflows_pack(project: Path) -> None:
    host = loaded_host(project, {})
    assert "workflows" not in host.pack_names(host.profile)


def test_a_changed_configuration_changes_workflows_and_models(project: Path, service: Service) -> None:
    host = loaded_host(project, {})
    newer = loaded_host(project, configured(service)).loaded
    asyncio.run(host.apply_config(newer))
    assert call(host, "workflow.project_audit", level="MUST").data["status"] == "success"


# -- km-recipe-run -----------------------------------------------------------------------------------------------------


@pytest.fixture
def kitchen(project: Path) -> Host:
    recipes = project / "recipes"
    recipes.mkdir()
    (recipes / "wrong.yaml").write_text(
        "version: 1\nsteps: [{id: a, tool: contextive_health, expect: {status: sad}}]\n", "utf-8"
    )
    (recipes / "broken.yaml").write_text("version: 1\n", "utf-8")
    (recipes / "self.yaml").write_text(
        "version: 1\nsteps: [{id: a, tool: km-recipe-run, params: {recipe: self}}]\n", "utf-8"
    )
    (recipes / "late.yaml").write_text(
        "version: 1\ntimeout_seconds: 1\nsteps: [{id: a, wait: {tool: contextive_health, "
        "until: {path: status, equals: sad}, interval_seconds: 0.5}}]\n",
        "utf-8",
    )
    pack = Pack("kitchen", title="K", description="K")
    declare(pack)
    return loaded_host(project, {"toolPacks": WITHOUT_KNOWLEDGE}, pack)


##= docs/spec/models-and-recipes.md#km-recipe-run
##% The tool `km-recipe-run` MUST take `recipe`, and optionally `vars` and `dry_run`.
##= docs/spec/models-and-recipes.md#km-recipe-run
##% The result of a run MUST have `status`, `outputs` and `steps`, with one entry for each step that says how the step
##% ended.
def test_a_recipe_run_returns_the_specified_fields(kitchen: Host) -> None:
    data = call(kitchen, "km-recipe-run", OWNER_AS_MAINTAINER, recipe="spec-audit", vars={"limit": 5}).data
    assert data["status"] == "success"
    assert data["outputs"]["uncited"]["total"] == 1
    assert [step["status"] for step in data["steps"]] == ["success"] * 3
    log = kitchen.loaded.project / ".contextive" / "audit" / "recipes.log"
    assert json.loads(log.read_text(encoding="utf-8"))["recipe"] == "spec-audit"


##= docs/spec/models-and-recipes.md#km-recipe-run
##% The tool `km-recipe-run` MUST require the maintainer scope.
def test_km_recipe_run_needs_the_maintainer_scope(kitchen: Host) -> None:
    assert "km-recipe-run" not in kitchen.surface(kitchen.profile, Scope.READER).tools


def test_a_dry_run_lists_the_steps(kitchen: Host) -> None:
    data = call(kitchen, "km-recipe-run", OWNER_AS_MAINTAINER, recipe="spec-audit", dry_run=True).data
    assert {step["status"] for step in data["steps"]} == {"skipped"}
    assert data["outputs"] == {}


##= docs/spec/models-and-recipes.md#km-recipe-run
##% An unknown recipe MUST be refused with `recipe_not_found`.
##= docs/spec/models-and-recipes.md#km-recipe-run
##% A tool or model that fails MUST end the run with `tool_failed`.
##= docs/spec/models-and-recipes.md#km-recipe-run
##% A result that fails an assertion of the recipe MUST end the run with `assert_failed`.
@pytest.mark.parametrize(
    ("recipe", "code", "status"),
    [
        ("nope", "recipe_not_found", 404),
        ("broken", "schema_invalid", 400),
        ("wrong", "assert_failed", 422),
        ("self", "tool_failed", 502),
        ("late", "timeout", 504),
    ],
)
def test_every_kind_of_failure_has_its_code(kitchen: Host, recipe: str, code: str, status: int) -> None:
    with pytest.raises(ContextiveError) as caught:
        call(kitchen, "km-recipe-run", OWNER_AS_MAINTAINER, recipe=recipe)
    assert (caught.value.code, caught.value.http_status) == (code, status)
    if code not in ("recipe_not_found", "schema_invalid"):
        assert caught.value.details is not None
        assert caught.value.details["steps"][0]["status"] == "error"


def test_a_recipe_may_take_longer_than_a_single_tool(kitchen: Host) -> None:
    from contextive.registry import Limits

    (kitchen.loaded.project / "recipes" / "slow.yaml").write_text(
        "version: 1\nsteps: [{id: a, wait: {tool: contextive_health, until: {path: status, equals: sad}, "
        "interval_seconds: 0.5, timeout_seconds: 1}, fallback: [{tool: contextive_health}]}]\n",
        "utf-8",
    )
    kitchen.dispatcher.limits = Limits(timeout_seconds=0.4)
    assert call(kitchen, "km-recipe-run", OWNER_AS_MAINTAINER, recipe="slow").data["status"] == "success"


# -- over a real wire --------------------------------------------------------------------------------------------------


def test_a_workflow_over_stdio_reports_progress_and_returns_structured_content(project: Path, service: Service) -> None:
    service.text = "The pump."
    file = project / "given.json"
    file.write_text(json.dumps(configured(service)), encoding="utf-8")
    with StdioClient(
        "serve", "--stdio", "--config", str(file), cwd=project, env={"XDG_CONFIG_HOME": str(project)}
    ) as pipe:
        pipe.initialize()
        params = {
            "name": "workflow.project_audit",
            "arguments": {"level": "MUST"},
            "_meta": {"progressToken": "p"},
        }
        result = pipe.result("tools/call", params)
        assert result["structuredContent"]["outputs"]["result"]["model"] == "here/small"
        progress = [n["params"] for n in pipe.notifications if n["method"] == "notifications/progress"]
        assert [(t["progress"], t["total"]) for t in progress] == [(0, 2), (1, 2), (2, 2)]
        service.script = [refusal(403)]
        failed = pipe.result("tools/call", params)
        error = json.loads(failed["content"][0]["text"])["error"]
        assert failed["isError"]
        assert error["code"] == "tool_failed"
        assert error["details"]["steps"][1]["status"] == "error"
        modern = pipe.modern("tools/call", {"name": "workflow.guarded", "arguments": {"requirement": "x"}})
        assert modern["result"]["structuredContent"]["status"] == "success"


def test_a_failed_assertion_has_its_own_error_code(kitchen: Host) -> None:
    with pytest.raises(AssertFailed, match="expects status to be 'sad'; it is 'healthy'"):
        call(kitchen, "km-recipe-run", OWNER_AS_MAINTAINER, recipe="wrong")


##= docs/spec/models-and-recipes.md#workflow-tools
##% The variables of a workflow MUST be the typed arguments of its tool.
def test_variables_of_a_workflow_are_typed_and_may_have_defaults(project: Path) -> None:
    flow = {
        "variables": {"limit": {"type": "integer", "default": 5, "description": "How many"}, "copy": {}},
        "steps": [{"tool": "list_uncited_requirements", "params": {"limit": "${vars.limit}"}}],
    }
    host = loaded_host(project, {"workflows": {"open": flow}})
    tool = host.surface(host.profile, Scope.READER).tools["workflow.open"]
    assert tool.input_schema["properties"]["limit"] == {"type": "integer", "default": 5, "description": "How many"}
    assert tool.input_schema["required"] == ["copy"]
    assert call(host, "workflow.open", copy="x").data["outputs"]["result"]["total"] == 1
    with pytest.raises(InvalidRequest, match="'limit'"):
        call(host, "workflow.open", copy="x", limit="5")


def test_a_workflow_can_wait_expect_assert_capture_and_name_its_outputs(project: Path) -> None:
    wait = {"tool": "contextive_health", "until": {"path": "status", "equals": "healthy"}, "intervalSeconds": 0.5}
    flow = {
        "steps": [
            {"id": "ready", "wait": wait, "timeoutSeconds": 20},
            {
                "id": "info",
                "tool": "contextive_server_info",
                "expect": {"name": "contextive-mcp"},
                "assert": [{"path": "result.nothing", "exists": False}],
                "capture": [{"name": "packs", "path": "enabledToolPacks"}],
            },
        ],
        "outputs": {"health": "${steps.ready.status}", "first": "${captures.packs[0]}", "said": "it is ${vars.word}"},
    }
    host = loaded_host(project, {"workflows": {"look": flow}})
    data = call(host, "workflow.look", word="so").data
    assert data["outputs"] == {"health": "healthy", "first": "orient", "said": "it is so"}
    flow["steps"][1]["expect"] = {"name": "another"}  # type: ignore[index]
    with pytest.raises(AssertFailed, match="expects name to be 'another'"):
        call(loaded_host(project, {"workflows": {"look": flow}}), "workflow.look", word="so")


@pytest.mark.parametrize(
    "step",
    [
        {"tool": "a", "wait": {"tool": "b", "until": {"path": "x", "exists": True}}},
        {"wait": {"tool": "b", "until": {"path": "x"}}},
        {"tool": "a", "assert": [{"path": "x", "equals": 1, "notEquals": 2}]},
    ],
)
def test_a_step_of_a_workflow_has_one_action_and_a_condition_one_operator(project: Path, step: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="exactly one of"):
        loaded_host(project, {"workflows": {"w": {"steps": [step]}}})
