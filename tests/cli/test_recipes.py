"""`recipes list | show | validate | run`, and the exit codes that scripts rely on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Desk

SAMPLE = """\
version: 1
summary: Say who you are.
variables:
  depth: 1
  name: {type: string, description: Whom to greet}
steps:
  - id: who
    tool: contextive_server_info
    description: Ask the server
    expect: {result.mode: in-process}
outputs:
  greeting: ${name}, I am ${steps.who.name}
  depth: ${depth}
"""
FAILING = """\
version: 1
steps:
  - id: bad
    tool: contextive_server_info
    expect: {result.mode: on the moon}
"""
LATE = """\
version: 1
steps:
  - id: never
    wait:
      tool: contextive_server_info
      until: {path: result.mode, equals: on the moon}
      interval_seconds: 1
      timeout_seconds: 1
"""


@pytest.fixture
def kitchen(desk: Desk) -> Desk:
    folder = desk.folder / "recipes"
    folder.mkdir()
    for name, text in (("sample", SAMPLE), ("failing", FAILING), ("late", LATE), ("broken", "version: 1\nsteps: 5\n")):
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return desk


def audited(folder: Path) -> list[dict[str, object]]:
    log = folder / ".contextive" / "audit" / "recipes.log"
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


def test_list_names_every_recipe_and_where_it_comes_from(kitchen: Desk) -> None:
    printed = kitchen.run("recipes", "list").stdout.splitlines()
    assert any(line.split()[:2] == ["daily-health", "shipped"] for line in printed)
    assert any(line.split()[:2] == ["sample", "project"] and line.endswith("Say who you are.") for line in printed)
    assert any(line.startswith("broken ") and line.endswith("cannot be used") for line in printed)
    listed = {entry["name"]: entry for entry in json.loads(kitchen.run("recipes", "list", "--json").stdout)}
    assert listed["sample"]["variables"] == {
        "depth": {"type": "integer", "description": "", "default": 1},
        "name": {"type": "string", "description": "Whom to greet", "required": True},
    }
    assert "problem" in listed["broken"]


def test_show_prints_a_recipe_as_it_is_written(kitchen: Desk) -> None:
    assert kitchen.run("recipes", "show", "sample").stdout == SAMPLE
    assert json.loads(kitchen.run("recipes", "show", "sample", "--json").stdout)["outputs"] == ["greeting", "depth"]


def test_run_prints_steps_and_outputs_and_writes_the_audit(kitchen: Desk) -> None:
    printed = kitchen.run("recipes", "run", "sample", "--var", "name=World", "--var", "depth=3")
    assert "who  Ask the server" in printed.stdout
    assert "greeting: World, I am contextive-mcp\n" in printed.stdout
    assert "depth: 3\n" in printed.stdout
    (line,) = audited(kitchen.folder)
    assert (line["recipe"], line["success"], line["caller"], line["door"]) == ("sample", True, "owner", "cli")


def test_run_gives_json_when_asked(kitchen: Desk) -> None:
    run = json.loads(kitchen.run("recipes", "run", "sample", "--var", "name=5", "--json").stdout)
    assert run["status"] == "success"
    assert run["outputs"] == {"greeting": "5, I am contextive-mcp", "depth": 1}
    assert run["steps"][0]["result"]["mode"] == "in-process"


##= docs/spec/models-and-recipes.md#how-steps-run
##% A dry run MUST call nothing and write nothing.
def test_a_dry_run_lists_the_steps_and_writes_nothing(kitchen: Desk) -> None:
    printed = kitchen.run("recipes", "run", "sample", "--var", "name=x", "--dry-run")
    assert printed.stdout.split()[0] == "skipped"
    assert audited(kitchen.folder) == []


##= docs/spec/models-and-recipes.md#km-recipe-run
##% The command `recipes run` MUST end with 2 for a recipe that cannot be used, 3 for a step that failed and 4 for one
##% out of time.
@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["run", "nope"], 2, "No recipe 'nope'. Recipes: authoring-loop, "),
        (["run", "broken"], 2, "recipes/broken.yaml:2: steps: "),
        (["run", "sample"], 2, "sample needs the variable name. Whom to greet"),
        (["run", "sample", "--var", "name=x", "--var", "depth=deep"], 2, "must be of type integer."),
        (["run", "sample", "--var", "name"], 2, "--var takes KEY=VALUE, not 'name'."),
        (["run"], 2, "recipes run needs the name of a recipe."),
        (["list", "--dry-run"], 2, "--var and --dry-run belong to recipes run."),
        (["cook", "sample"], 2, "Argument ACTION: invalid choice: 'cook'"),
        (["run", "failing"], 3, "The step bad wants result.mode to be 'on the moon'; it is 'in-process'."),
        (["run", "late"], 4, "The step never waited 1 seconds for contextive_server_info: "),
    ],
)
def test_what_went_wrong_is_one_sentence_and_an_exit_code(
    kitchen: Desk, arguments: list[str], code: int, complaint: str
) -> None:
    assert complaint in kitchen.complaint("recipes", *arguments, code=code)


def test_a_failure_as_json_tells_the_steps(kitchen: Desk) -> None:
    error = json.loads(kitchen.run("recipes", "run", "failing", "--json", code=3).stdout)["error"]
    assert error["code"] == "assert_failed"
    assert error["details"]["steps"][0]["status"] == "error"


def test_validate_checks_one_recipe_a_file_or_all(kitchen: Desk) -> None:
    assert kitchen.run("recipes", "validate", "sample").stdout == "sample: valid\n"
    assert "recipes/broken.yaml:2: steps: " in kitchen.run("recipes", "validate", code=2).stdout
    kitchen.write("elsewhere.yaml", FAILING.replace("contextive_server_info", "no_such_tool"))
    printed = kitchen.run("recipes", "validate", "elsewhere.yaml").stdout
    assert printed == "elsewhere: valid\n  no_such_tool is not offered here, so a run would fail\n"
    assert "cannot be opened" in kitchen.run("recipes", "validate", "gone.yaml", code=2).stdout


def test_recipe_means_the_same(kitchen: Desk) -> None:
    assert kitchen.run("recipe", "list").stdout == kitchen.run("recipes", "list").stdout
