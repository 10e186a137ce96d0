"""`recipes list | show | validate | run`, and the exit codes that scripts rely on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import InProcessCli

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
def recipe_project(in_process_cli: InProcessCli) -> InProcessCli:
    folder = in_process_cli.folder / "recipes"
    folder.mkdir()
    for name, text in (("sample", SAMPLE), ("failing", FAILING), ("late", LATE), ("broken", "version: 1\nsteps: 5\n")):
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return in_process_cli


def audited(folder: Path) -> list[dict[str, object]]:
    log = folder / ".contextive" / "audit" / "recipes.log"
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


def test_list_names_every_recipe_and_where_it_comes_from(recipe_project: InProcessCli) -> None:
    printed = recipe_project.run("recipes", "list").stdout.splitlines()
    assert any(line.split()[:2] == ["daily-health", "shipped"] for line in printed)
    assert any(line.split()[:2] == ["sample", "project"] and line.endswith("Say who you are.") for line in printed)
    assert any(line.startswith("broken ") and line.endswith("invalid") for line in printed)
    listed = {entry["name"]: entry for entry in json.loads(recipe_project.run("recipes", "list", "--json").stdout)}
    assert listed["sample"]["variables"] == {
        "depth": {"type": "integer", "description": "", "default": 1},
        "name": {"type": "string", "description": "Whom to greet", "required": True},
    }
    assert "problem" in listed["broken"]


def test_show_prints_the_text_of_a_recipe(recipe_project: InProcessCli) -> None:
    assert recipe_project.run("recipes", "show", "sample").stdout == SAMPLE
    assert json.loads(recipe_project.run("recipes", "show", "sample", "--json").stdout)["outputs"] == [
        "greeting",
        "depth",
    ]


def test_run_prints_steps_and_outputs_and_writes_the_audit_log(recipe_project: InProcessCli) -> None:
    printed = recipe_project.run("recipes", "run", "sample", "--var", "name=World", "--var", "depth=3")
    assert "who  Ask the server" in printed.stdout
    assert "greeting: World, I am contextive-mcp\n" in printed.stdout
    assert "depth: 3\n" in printed.stdout
    (line,) = audited(recipe_project.folder)
    assert (line["recipe"], line["success"], line["caller"], line["door"]) == ("sample", True, "owner", "cli")


def test_run_prints_json_with_the_flag(recipe_project: InProcessCli) -> None:
    run = json.loads(recipe_project.run("recipes", "run", "sample", "--var", "name=5", "--json").stdout)
    assert run["status"] == "success"
    assert run["outputs"] == {"greeting": "5, I am contextive-mcp", "depth": 1}
    assert run["steps"][0]["result"]["mode"] == "in-process"


##= docs/spec/models-and-recipes.md#step-execution
##% A dry run MUST call nothing and write nothing.
def test_a_dry_run_lists_the_steps_and_writes_nothing(recipe_project: InProcessCli) -> None:
    printed = recipe_project.run("recipes", "run", "sample", "--var", "name=x", "--dry-run")
    assert printed.stdout.split()[0] == "skipped"
    assert audited(recipe_project.folder) == []


##= docs/spec/models-and-recipes.md#km-recipe-run
##% The command `recipes run` MUST exit with 2 for a recipe that cannot be used, 3 for a failed step and 4 for a
##% timeout.
@pytest.mark.parametrize(
    ("arguments", "code", "error_message"),
    [
        (["run", "nope"], 2, "No recipe 'nope'. Recipes: authoring-loop, "),
        (["run", "broken"], 2, "recipes/broken.yaml:2: steps: "),
        (["run", "sample"], 2, "sample needs the variable name. Whom to greet"),
        (["run", "sample", "--var", "name=x", "--var", "depth=deep"], 2, "must be of type integer."),
        (["run", "sample", "--var", "name"], 2, "--var takes KEY=VALUE, not 'name'."),
        (["run"], 2, "recipes run needs the name of a recipe."),
        (["list", "--dry-run"], 2, "--var and --dry-run are only for recipes run."),
        (["cook", "sample"], 2, "Argument ACTION: invalid choice: 'cook'"),
        (["run", "failing"], 3, "The step bad expects result.mode to be 'on the moon'; it is 'in-process'."),
        (["run", "late"], 4, "The step never waited 1 seconds for contextive_server_info: "),
    ],
)
def test_each_failure_has_a_one_line_message_and_an_exit_code(
    recipe_project: InProcessCli, arguments: list[str], code: int, error_message: str
) -> None:
    assert error_message in recipe_project.error_message("recipes", *arguments, code=code)


def test_a_failure_as_json_contains_the_steps(recipe_project: InProcessCli) -> None:
    error = json.loads(recipe_project.run("recipes", "run", "failing", "--json", code=3).stdout)["error"]
    assert error["code"] == "assert_failed"
    assert error["details"]["steps"][0]["status"] == "error"


def test_validate_checks_one_recipe_a_file_or_all(recipe_project: InProcessCli) -> None:
    assert recipe_project.run("recipes", "validate", "sample").stdout == "sample: valid\n"
    assert "recipes/broken.yaml:2: steps: " in recipe_project.run("recipes", "validate", code=2).stdout
    recipe_project.write("elsewhere.yaml", FAILING.replace("contextive_server_info", "no_such_tool"))
    printed = recipe_project.run("recipes", "validate", "elsewhere.yaml").stdout
    assert printed == "elsewhere: valid\n  The tool no_such_tool is not available, so a run would fail.\n"
    assert "cannot be opened" in recipe_project.run("recipes", "validate", "gone.yaml", code=2).stdout


def test_recipe_is_an_alias_of_recipes(recipe_project: InProcessCli) -> None:
    assert recipe_project.run("recipe", "list").stdout == recipe_project.run("recipes", "list").stdout
