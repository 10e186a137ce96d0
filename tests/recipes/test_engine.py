"""The engine: a dry run calls nothing, a failure stops the run, and only successful runs have outputs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.errors import (
    AssertFailed,
    ContextiveError,
    InvalidRequest,
    NoModel,
    NotFound,
    TimedOut,
    ToolFailed,
)
from contextive.recipes.engine import RecipeEngine
from contextive.recipes.recipe import Recipe
from contextive.recipes.run import MAX_RESULT_BYTES, RunRecord
from contextive.recipes.schema import parse_recipe


@dataclass
class EngineHarness:
    """Tools and models that answer from lists and repeat the last answer."""

    answers: dict[str, list[Any]] = field(default_factory=dict)
    calls: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    prompts: list[tuple[str, str]] = field(default_factory=list)
    audits: list[RunRecord] = field(default_factory=list)
    progress_calls: list[tuple[float, float | None, str | None]] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    time: float = 0.0
    hanging: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(self, tool: str, params: Mapping[str, Any]) -> Any:
        self.calls.append((tool, params))
        answers = self.answers.get(tool, [{"status": "ok"}])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, ContextiveError):
            raise answer
        if answer == "hang":
            self.hanging.set()
            await asyncio.sleep(60)
        return answer

    async def ask(self, model: str, prompt: str) -> Mapping[str, Any]:
        self.prompts.append((model, prompt))
        if model == "gone":
            raise NoModel("The model gone is not known.")
        return {"text": f"{model} says", "warnings": []}

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        self.progress_calls.append((done, total, message))

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.time += seconds

    def run(self, recipe: Recipe, given_: Mapping[str, Any] | None = None, *, dry_run: bool = False) -> RunRecord:
        engine = RecipeEngine(self, self, self.progress, self.audits.append, self.sleep, lambda: self.time)
        return asyncio.run(engine.run(recipe, given_ or {}, dry_run=dry_run))

    def failure(self, recipe: Recipe, given_: Mapping[str, Any] | None = None) -> ContextiveError:
        with pytest.raises(ContextiveError) as caught:
            self.run(recipe, given_)
        return caught.value


def recipe(*steps: str, rest: str = "") -> Recipe:
    return parse_recipe("version: 1\nsteps:\n" + "".join(f"  - {step}\n" for step in steps) + rest, "r")


def statuses(error: ContextiveError) -> list[tuple[str, str]]:
    assert error.details is not None
    return [(step["id"], step["status"]) for step in error.details["steps"]]


CHAIN = recipe(
    '{id: find, tool: search, params: {query: "${topic}"}, capture: [{name: id, path: "result.hits[0].id"}]}',
    '{id: read, tool: get, params: {id: "${captures.id}", n: "${count}"}}',
    '{id: sum, model: small, prompt: "Sum up ${steps.read.body} of ${topic}"}',
    rest="variables: {topic: {type: string}, count: 5}\noutputs: {text: '${steps.sum.text}', id: '${captures.id}'}\n",
)


##= docs/spec/models-and-recipes.md#step-execution
##% Steps MUST run in order, and the first step that fails ends the run.
def test_steps_run_in_order_and_pass_on_their_results() -> None:
    bench = EngineHarness({"search": [{"hits": [{"id": 42}]}], "get": [{"body": "a body"}]})
    record = bench.run(CHAIN, {"topic": "tides"})
    assert bench.calls == [("search", {"query": "tides"}), ("get", {"id": 42, "n": 5})]
    assert bench.prompts == [("small", "Sum up a body of tides")]
    assert record.success
    assert record.outputs == {"text": "small says", "id": 42}
    assert [(step.id, step.status) for step in record.steps] == [
        ("find", "success"),
        ("read", "success"),
        ("sum", "success"),
    ]
    assert [progress[:2] for progress in bench.progress_calls] == [(0, 3), (1, 3), (2, 3), (3, 3)]


##= docs/spec/models-and-recipes.md#km-recipe-run
##% The result of a run MUST have `status`, `outputs` and `steps`, with one entry for each step that says how the step
##% ended.
def test_a_run_has_the_specified_fields() -> None:
    bench = EngineHarness({"search": [{"hits": [{"id": 1}]}], "get": [{"body": "b"}]})
    data = bench.run(CHAIN, {"topic": "t"}).as_dict()
    assert {"recipe", "started_at", "finished_at", "duration_seconds", "success", "steps", "outputs"} <= data.keys()
    assert {"id", "status", "duration_seconds", "message", "result"} == data["steps"][0].keys()


##= docs/spec/models-and-recipes.md#step-execution
##% A dry run MUST call nothing and write nothing.
def test_a_dry_run_calls_nothing_and_skips_every_step() -> None:
    bench = EngineHarness()
    record = bench.run(CHAIN, {"topic": "t"}, dry_run=True)
    assert bench.calls == []
    assert bench.prompts == []
    assert bench.audits == []
    assert record.success
    assert record.outputs == {}
    assert [(step.status, step.message) for step in record.steps] == [
        ("skipped", "call search"),
        ("skipped", "call get"),
        ("skipped", "call small"),
    ]


def test_a_dry_run_still_checks_the_variables() -> None:
    with pytest.raises(InvalidRequest, match="needs the variable topic"):
        EngineHarness().run(CHAIN, {}, dry_run=True)


##= docs/spec/models-and-recipes.md#km-recipe-run
##% A tool or model that fails MUST end the run with `tool_failed`.
##= docs/spec/models-and-recipes.md#step-execution
##% A run MUST return outputs only if every step succeeded.
def test_a_failing_tool_stops_the_run() -> None:
    bench = EngineHarness({"search": [NotFound("No such thing.", hint="Look elsewhere.")]})
    error = bench.failure(CHAIN, {"topic": "t"})
    assert isinstance(error, ToolFailed)
    assert error.message == "The step find failed: search: No such thing."
    assert error.hint == "Look elsewhere."
    assert statuses(error) == [("find", "error"), ("read", "skipped"), ("sum", "skipped")]
    assert error.details is not None
    assert error.details["outputs"] == {}
    assert error.details["success"] is False
    assert len(bench.calls) == 1


def test_a_failing_model_is_a_failed_step() -> None:
    error = EngineHarness().failure(recipe("{id: a, model: gone, prompt: x}"))
    assert (error.code, error.message) == ("tool_failed", "The step a failed: model gone: The model gone is not known.")


##= docs/spec/models-and-recipes.md#km-recipe-run
##% A result that fails an assertion of the recipe MUST end the run with `assert_failed`.
@pytest.mark.parametrize(
    ("condition", "result", "passes"),
    [
        ("{path: result.a, equals: 1}", {"a": 1}, True),
        ("{path: a, equals: 1}", {"a": 2}, False),
        ("{path: a, equals: 1}", {}, False),
        ("{path: a, equals: 1}", {"a": True}, False),
        ("{path: a, equals: [1, {b: false}]}", {"a": [1, {"b": False}]}, True),
        ("{path: a, equals: [1, {b: false}]}", {"a": [1, {"b": 0}]}, False),
        ("{path: a, equals: null}", {"a": None}, True),
        ("{path: a, not_equals: 1}", {"a": 2}, True),
        ("{path: a, not_equals: 1}", {"a": 1}, False),
        ("{path: a, not_equals: 1}", {}, False),
        ("{path: a, exists: true}", {"a": None}, True),
        ("{path: a, exists: true}", {}, False),
        ("{path: a, exists: false}", {}, True),
        ("{path: a, exists: false}", {"a": 0}, False),
        ('{path: "a[0].b", exists: false}', {"a": []}, True),
        ('{path: a, equals: "${want}"}', {"a": 7}, True),
    ],
)
def test_conditions_compare_values_as_specified(condition: str, result: Any, passes: bool) -> None:
    checked = recipe(f"{{id: s, tool: t, assert: [{condition}]}}", rest="variables: {want: 7}\n")
    bench = EngineHarness({"t": [result]})
    if passes:
        assert bench.run(checked).success
    else:
        error = bench.failure(checked)
        assert isinstance(error, AssertFailed)
        assert error.message.startswith("The step s expects ")
        assert statuses(error) == [("s", "error")]


def test_expect_compares_values_at_paths() -> None:
    checked = recipe("{id: s, tool: t, expect: {result.status: ok, total: 2}}")
    assert EngineHarness({"t": [{"status": "ok", "total": 2}]}).run(checked).success
    error = EngineHarness({"t": [{"status": "ok", "total": 3}]}).failure(checked)
    assert (error.code, error.message) == ("assert_failed", "The step s expects total to be 2; it is 3.")


@pytest.mark.parametrize(
    "broken",
    [
        recipe("{id: a, tool: t}", '{id: b, tool: t, params: {x: "${steps.a.nope[0]}"}}'),
        recipe("{id: a, tool: t}", '{id: b, tool: t, capture: [{name: c, path: "result.nope"}]}'),
        recipe("{id: a, tool: t}", '{id: b, tool: t, assert: [{path: status, equals: "${steps.a.nope}"}]}'),
        recipe("{id: a, tool: t}", "{id: b, tool: t}", rest="outputs: {o: '${steps.a.nope}'}\n"),
    ],
)
def test_a_result_without_a_required_value_is_a_failed_assertion(broken: Recipe) -> None:
    error = EngineHarness().failure(broken)
    assert isinstance(error, AssertFailed)
    assert "nope" in error.message


##= docs/spec/models-and-recipes.md#step-execution
##% A wait MUST call its tool until the condition is true or its time limit is reached.
def test_a_wait_polls_until_its_condition_is_true() -> None:
    waiting = recipe(
        "{id: w, capture: [{name: n, path: n}], "
        "wait: {tool: status, until: {path: result.state, equals: done}, interval_seconds: 2}}",
        rest="outputs: {n: '${captures.n}'}\n",
    )
    bench = EngineHarness({"status": [{}, {"state": "busy"}, {"state": "done", "n": 3}]})
    assert bench.run(waiting).outputs == {"n": 3}
    assert bench.pauses == [2, 2]
    assert len(bench.calls) == 3


def test_a_wait_ends_at_its_time_limit() -> None:
    waiting = recipe(
        "{id: w, wait: {tool: status, until: {path: state, equals: done}, interval_seconds: 4, timeout_seconds: 10}}"
    )
    bench = EngineHarness({"status": [{"state": "busy"}]})
    error = bench.failure(waiting)
    assert isinstance(error, TimedOut)
    assert error.message == "The step w waited 10 seconds for status: state to be 'done'."
    assert len(bench.calls) == 3
    assert bench.time <= 10


def test_a_tool_that_fails_ends_its_wait() -> None:
    waiting = recipe("{id: w, wait: {tool: status, until: {path: state, equals: done}}}")
    bench = EngineHarness({"status": [NotFound("gone")]})
    assert bench.failure(waiting).code == "tool_failed"
    assert len(bench.calls) == 1


##= docs/spec/models-and-recipes.md#km-recipe-run
##% A step, a wait or a run that takes too long MUST end the run with `timeout`.
def test_steps_and_recipes_have_time_limits() -> None:
    slow = EngineHarness({"t": ["hang"]})
    one = recipe("{id: a, tool: t, timeout_seconds: 1}", "{id: b, tool: u}")
    error = slow.failure(one)
    assert (error.code, error.message) == ("timeout", "The step a took longer than 1 seconds.")
    assert statuses(error) == [("a", "error"), ("b", "skipped")]
    whole = recipe("{id: a, tool: t}", "{id: b, tool: u}", rest="timeout_seconds: 1\n")
    error = slow.failure(whole)
    assert (error.code, error.message) == ("timeout", "The recipe r took longer than 1 seconds.")
    assert statuses(error) == [("a", "error"), ("b", "skipped")]
    assert len(slow.audits) == 2


def test_a_tool_that_times_out_is_a_timeout_of_the_step() -> None:
    error = EngineHarness({"t": [TimedOut("The tool t took longer than 60 seconds.")]}).failure(
        recipe("{id: a, tool: t}")
    )
    assert error.code == "timeout"


##= docs/spec/models-and-recipes.md#step-execution
##% A step that fails MUST be replaced by its fallback if it has one.
def test_a_fallback_replaces_a_failed_step() -> None:
    guarded = recipe(
        "{id: a, tool: broken, fallback: [{id: spare, tool: other}, {tool: last, params: {x: '${steps.spare.v}'}}]}",
        "{id: b, tool: t, params: {x: '${steps.a.v}'}}",
    )
    bench = EngineHarness({"broken": [NotFound("no")], "other": [{"v": 1}], "last": [{"v": 2}]})
    record = bench.run(guarded)
    assert record.success
    assert [(step.id, step.status) for step in record.steps] == [
        ("a", "error"),
        ("spare", "success"),
        ("a-fallback-2", "success"),
        ("b", "success"),
    ]
    assert bench.calls[-2:] == [("last", {"x": 1}), ("t", {"x": 2})]


def test_a_fallback_runs_only_after_a_failure_and_may_fail_too() -> None:
    guarded = recipe("{id: a, tool: t, expect: {status: ok}, fallback: [{id: f, tool: other}]}")
    fine = EngineHarness()
    fine.run(guarded)
    assert [tool for tool, _ in fine.calls] == ["t"]
    bad = EngineHarness({"t": [{"status": "bad"}], "other": [NotFound("neither")]})
    assert bad.failure(guarded).message == "The step f failed: other: neither"


##= docs/spec/models-and-recipes.md#step-execution
##% A variable that is missing, unknown or of the wrong type MUST be refused before anything runs.
@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({}, "r needs the variable topic."),
        ({"topic": "x", "nope": 1}, "r has no variable 'nope'."),
        ({"topic": 5}, "The variable topic of r must be of type string."),
        ({"topic": "x", "count": "5"}, "The variable count of r must be of type integer."),
        ({"topic": "x", "count": True}, "The variable count of r must be of type integer."),
    ],
)
def test_variables_are_checked_before_anything_runs(values: dict[str, Any], complaint: str) -> None:
    bench = EngineHarness()
    error = bench.failure(CHAIN, values)
    assert (error.code, error.message) == ("invalid_request", complaint)
    assert bench.calls == []
    assert bench.audits == []


def test_each_run_writes_one_audit_record_without_results_but_with_captures() -> None:
    bench = EngineHarness({"search": [{"hits": [{"id": 42}]}], "get": [NotFound("no")]})
    bench.failure(CHAIN, {"topic": "t"})
    (record,) = bench.audits
    line = record.audit_line()
    assert line["success"] is False
    assert line["captures"] == {"id": 42}
    assert line["steps"][0].keys() == {"id", "status", "duration_seconds"}


def test_a_cancelled_run_is_audited_too() -> None:
    bench = EngineHarness({"t": ["hang"]})
    engine = RecipeEngine(bench, bench, audit=bench.audits.append)

    async def cancelled() -> None:
        task = asyncio.create_task(engine.run(recipe("{id: a, tool: t}"), {}))
        await asyncio.wait_for(bench.hanging.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert [record.success for record in bench.audits] == [False]


def test_a_long_result_is_replaced_by_its_size() -> None:
    bench = EngineHarness({"t": [{"text": "x" * MAX_RESULT_BYTES}]})
    data = bench.run(recipe("{id: a, tool: t}", rest="outputs: {t: '${steps.a.text}'}\n")).as_dict()
    assert "result" not in data["steps"][0]
    assert data["steps"][0]["result_bytes"] > MAX_RESULT_BYTES
    assert len(data["outputs"]["t"]) == MAX_RESULT_BYTES


@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_a_run_calls_exactly_the_steps_up_to_the_first_failure(outcomes: list[bool]) -> None:
    tools = [f"t{number}" for number in range(len(outcomes))]
    bench = EngineHarness(
        {tool: [{"ok": True} if fine else NotFound("no")] for tool, fine in zip(tools, outcomes, strict=True)}
    )
    chain = recipe(*(f"{{id: {tool}, tool: {tool}}}" for tool in tools), rest="outputs: {o: done}\n")
    expected = outcomes.index(False) + 1 if False in outcomes else len(outcomes)
    if all(outcomes):
        assert bench.run(chain).outputs == {"o": "done"}
    else:
        error = bench.failure(chain)
        wanted = ["success"] * (expected - 1) + ["error"] + ["skipped"] * (len(outcomes) - expected)
        assert [status for _, status in statuses(error)] == wanted
    assert [tool for tool, _ in bench.calls] == tools[:expected]
    assert len(bench.audits) == 1
