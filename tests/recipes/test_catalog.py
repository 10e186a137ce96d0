"""The recipes of a project: they replace built-in ones, and an invalid one does not affect the others."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from contextive.errors import RecipeNotFound, SchemaInvalid
from contextive.packs import BUILTIN, load_builtin
from contextive.recipes.catalog import RecipeCatalog
from contextive.recipes.recipe import ModelCall
from contextive.workspace.audit_log import AuditLog

GOOD = "version: 1\nsummary: Mine.\nsteps: [{id: a, tool: t}]\n"
SEED_CATALOGUE = frozenset(
    {
        "km-help", "km-search", "km-graph-node", "km-graph-subsystem", "km-graph-search", "km-coverage-summary",
        "km-lifecycle-report", "km-ingest-status", "km-ingest-trigger", "km-feedback-submit", "km-backup-trigger",
        "km-upload", "km-storetext",
    }
)  # fmt: skip
SHIPPED = (
    "authoring-loop", "daily-health", "feedback-triage", "post-restore-verify", "release-prep", "spec-audit",
    "stale-audit", "subsystem-freshness",
)  # fmt: skip


def book(folder: Path, **files: str) -> RecipeCatalog:
    (folder / "recipes").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / "recipes" / name.replace("__", ".").replace("_", "-")).write_text(text, encoding="utf-8")
    return RecipeCatalog(folder)


##= docs/spec/models-and-recipes.md#recipe-sources
##% The recipes `daily-health`, `release-prep`, `stale-audit`, `subsystem-freshness`, `post-restore-verify`,
##% `authoring-loop`, `feedback-triage` and `spec-audit` MUST ship.
def test_these_recipes_are_built_in(tmp_path: Path) -> None:
    assert [(entry.name, entry.source) for entry in RecipeCatalog(tmp_path).entries()] == [
        (n, "shipped") for n in SHIPPED
    ]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_built_in_recipe_is_valid_and_calls_only_existing_tools(name: str, tmp_path: Path) -> None:
    recipe = RecipeCatalog(tmp_path).entry(name).recipe()
    trace = {tool.name for tool in load_builtin("trace").tools}
    assert set(recipe.tools) <= SEED_CATALOGUE | trace
    assert recipe.summary.endswith(".")
    assert all(step.description for step in recipe.steps)
    assert not any(isinstance(step.action, ModelCall) for step in recipe.all_steps())
    assert recipe.outputs


@pytest.mark.parametrize("name", SHIPPED)
def test_the_arguments_of_shipped_recipes_are_arguments_of_their_tools(name: str, tmp_path: Path) -> None:
    tools = {tool.name: tool for pack in BUILTIN for tool in load_builtin(pack).tools}
    for step in RecipeCatalog(tmp_path).entry(name).recipe().all_steps():
        assert not isinstance(step.action, ModelCall)
        if step.action.tool in tools:
            schema = tools[step.action.tool].input_schema
            assert set(step.action.params) <= set(schema["properties"])
            assert set(schema.get("required", ())) <= set(step.action.params)


##= docs/spec/models-and-recipes.md#recipe-sources
##% A recipe of the project MUST take precedence over a shipped recipe of the same name.
def test_a_project_recipe_replaces_the_built_in_one(tmp_path: Path) -> None:
    found = book(tmp_path, daily_health__yaml=GOOD, own__yml=GOOD)
    entry = found.entry("daily-health")
    assert (entry.source, entry.file, entry.recipe().summary) == ("project", "recipes/daily-health.yaml", "Mine.")
    assert found.entry("own").recipe().tools == ("t",)
    assert len(found.entries()) == len(SHIPPED) + 1


##= docs/spec/models-and-recipes.md#recipe-sources
##% A call MUST run the recipe as it was last saved before the call.
def test_a_call_runs_the_recipe_as_last_saved(tmp_path: Path) -> None:
    found = book(tmp_path, own__yaml=GOOD)
    assert found.entry("own").recipe().summary == "Mine."
    book(tmp_path, own__yaml=GOOD.replace("Mine", "Newer"))
    assert found.entry("own").recipe().summary == "Newer."


def test_an_invalid_recipe_is_listed_with_its_error_and_the_others_work(tmp_path: Path) -> None:
    found = book(tmp_path, bad__yaml="version: 1\nsteps: oops\n", good__yaml=GOOD)
    with pytest.raises(SchemaInvalid, match=r"recipes/bad\.yaml:2: steps: "):
        found.entry("bad").recipe()
    assert found.entry("good").recipe()


def test_an_invalid_project_recipe_does_not_fall_back_to_the_built_in_one(tmp_path: Path) -> None:
    with pytest.raises(SchemaInvalid):
        book(tmp_path, daily_health__yaml="nonsense").entry("daily-health").recipe()


##= docs/spec/models-and-recipes.md#km-recipe-run
##% An unknown recipe MUST be refused with `recipe_not_found`.
@pytest.mark.parametrize("name", ["nope", "", "../recipes/good", "good.yaml", "/etc/passwd", "\x1b[31m"])
def test_an_unknown_name_is_not_found_and_the_known_ones_are_listed(name: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeNotFound) as caught:
        book(tmp_path, good__yaml=GOOD).entry(name)
    assert "good" in str(caught.value.hint)
    assert caught.value.message.isprintable()


def test_links_out_of_the_project_and_special_files_are_not_read(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "outside.yaml").write_text(GOOD, encoding="utf-8")
    found = book(project)
    (project / "recipes" / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    (project / "recipes" / "folder.yaml").mkdir()
    os.mkfifo(project / "recipes" / "pipe.yaml")
    (project / "recipes" / "notes.txt").write_text("no recipe", encoding="utf-8")
    for name, reason in (("link", "outside the project"), ("folder", "not a regular file"), ("pipe", "not a regular")):
        with pytest.raises(SchemaInvalid, match=reason):
            found.entry(name).recipe()
    assert {entry.name for entry in found.entries() if entry.source == "project"} == {"link", "folder", "pipe"}


##= docs/spec/models-and-recipes.md#step-execution
##% Each run except a dry run MUST add one line to the recipe audit log.
def test_the_audit_log_has_one_line_of_json_per_run(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path / "state", "recipes")
    audit.append({"recipe": "a", "outputs": {"x": "ü\n"}})
    audit.append({"recipe": "b", "outputs": {"x": "y" * 100_000}, "captures": {}})
    path = tmp_path / "state" / "audit" / "recipes.log"
    first, second = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert first == {"recipe": "a", "outputs": {"x": "ü\n"}}
    assert second == {"recipe": "b", "left_out": ["outputs", "captures"]}
    assert path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "state" / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_an_unwritable_audit_log_does_not_stop_a_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "state").write_text("a file", encoding="utf-8")
    AuditLog(tmp_path / "state", "recipes").append({"recipe": "a"})
    assert "cannot be written" in caplog.text
    assert str(tmp_path) not in caplog.text
