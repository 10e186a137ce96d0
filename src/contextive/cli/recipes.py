"""`recipes list | show | validate | run`, with exit codes for scripts."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextive.cli.load_project import open_host, project_dir
from contextive.cli.parser import add_project_options
from contextive.cli.printing import print_data, print_line, print_text
from contextive.errors import ContextiveError, InvalidRequest, NotFound, TimedOut, UsageError

if TYPE_CHECKING:
    from contextive.packs.recipe_runner import RecipeRunAnswer
    from contextive.recipes.catalog import RecipeCatalog, RecipeFile
    from contextive.recipes.recipe import Recipe

OK, NOT_USABLE, FAILED, TIMED_OUT = 0, 2, 3, 4


def configure_recipes(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser)
    actions = ("list", "show", "validate", "run")
    parser.add_argument("action", choices=actions, metavar="ACTION", help=f"one of {', '.join(actions)}")
    parser.add_argument("name", nargs="?", metavar="NAME", help="name of a recipe, or a recipe file (validate only)")
    parser.add_argument(
        "--var", action="append", default=[], metavar="KEY=VALUE", help="with run: set a variable; may be repeated"
    )
    parser.add_argument("--dry-run", action="store_true", help="with run: validate and list the steps, call nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_recipe_command)


##= docs/spec/models-and-recipes.md#km-recipe-run
##% The command `recipes run` MUST exit with 2 for a recipe that cannot be used, 3 for a failed step and 4 for a
##% timeout.
def run_recipe_command(options: argparse.Namespace) -> int:
    """Run the action. Returns 0 on success, 2 for an invalid recipe, 3 for a failed step, 4 on timeout."""
    from contextive.recipes.catalog import RecipeCatalog

    if options.action in ("show", "run") and options.name is None:
        raise UsageError(
            f"recipes {options.action} needs the name of a recipe.", hint="See contextive-mcp recipes list."
        )
    if options.action != "run" and (options.var or options.dry_run):
        raise UsageError("--var and --dry-run are only for recipes run.")
    catalog = RecipeCatalog(project_dir(options))
    try:
        match options.action:
            case "list":
                return _list(catalog, as_json=options.json)
            case "show":
                return _show(catalog.entry(options.name), as_json=options.json)
            case "validate":
                return _validate(catalog, options)
            case _:
                return _run(catalog, options)
    except UsageError:
        raise
    except ContextiveError as error:
        return _report(error, as_json=options.json)


def _report(error: ContextiveError, *, as_json: bool) -> int:
    if as_json:
        print_data(json.dumps({"status": "error", "error": error.as_dict()}, indent=2, ensure_ascii=False))
    print_line(f"contextive-mcp: {error.full_message()}", file=sys.stderr)
    match error:
        case TimedOut():
            return TIMED_OUT
        case NotFound() | InvalidRequest():
            return NOT_USABLE
        case _:
            return FAILED


def _list(catalog: RecipeCatalog, *, as_json: bool) -> int:
    entries = catalog.entries()
    if as_json:
        print_data(json.dumps([_recipe_to_dict(entry) for entry in entries], indent=2, ensure_ascii=False))
        return OK
    width = max(len(entry.name) for entry in entries)
    for entry in entries:
        recipe = _recipe_or_none(entry)
        print_line(f"{entry.name:<{width}}  {entry.source:<7}  {recipe.summary if recipe else 'invalid'}")
    return OK


def _show(entry: RecipeFile, *, as_json: bool) -> int:
    if not as_json:
        print_text(entry.text)
        return OK
    entry.recipe()
    print_data(json.dumps(_recipe_to_dict(entry), indent=2, ensure_ascii=False))
    return OK


def _validate(catalog: RecipeCatalog, options: argparse.Namespace) -> int:
    entries = [_find_recipe(catalog, options.name)] if options.name else catalog.entries()
    host = open_host(options)
    offered = host.widest_surface(host.profile).tools
    report: list[dict[str, Any]] = []
    for entry in entries:
        recipe = _recipe_or_none(entry)
        missing = [tool for tool in recipe.tools if tool not in offered] if recipe else []
        report.append({**_recipe_to_dict(entry), "valid": recipe is not None, "tools_not_offered": missing})
    if options.json:
        print_data(json.dumps(report, indent=2, ensure_ascii=False))
    else:
        for line in report:
            print_line(f"{line['name']}: {'valid' if line['valid'] else line['problem']}")
            for tool in line["tools_not_offered"]:
                print_line(f"  The tool {tool} is not available, so a run would fail.")
    return OK if all(line["valid"] for line in report) else NOT_USABLE


def _find_recipe(catalog: RecipeCatalog, name: str) -> RecipeFile:
    """A recipe by its name, or from a file anywhere."""
    from contextive.recipes.catalog import read_recipe_file

    if name.endswith((".yaml", ".yml")):
        return read_recipe_file(Path(name))
    return catalog.entry(name)


def _run(catalog: RecipeCatalog, options: argparse.Namespace) -> int:
    recipe = catalog.entry(options.name).recipe()
    variables = parse_variables(recipe, options.var)
    result = asyncio.run(_run_in_process(recipe, variables, options))
    if options.json:
        print_data(result.model_dump_json(indent=2, exclude_none=True))
        return OK
    for step in result.steps:
        print_line(f"{step.status:<8} {step.duration_seconds:>8.2f} s  {step.id}  {step.message}")
    for name, value in result.outputs.items():
        print_line(f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    return OK


async def _run_in_process(recipe: Recipe, variables: dict[str, Any], options: argparse.Namespace) -> RecipeRunAnswer:
    from contextive.packs.recipe_runner import run_recipe
    from contextive.server.pipes import stdout_to_stderr

    host = open_host(options)
    ctx = host.context(host.owner, door="cli", profile=host.profile, request_id=uuid.uuid4().hex)
    try:
        with stdout_to_stderr():
            return await run_recipe(recipe, variables, ctx, dry_run=options.dry_run)
    finally:
        host.close()


def parse_variables(recipe: Recipe, words: list[str]) -> dict[str, Any]:
    """Variables from `key=value` pairs. The value is text for a string variable, and JSON for other types."""
    variables: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise UsageError(f"--var takes KEY=VALUE, not {word[:60]!r}.")
        declared = recipe.variables.get(name)
        variables[name] = text if declared is None or declared.type == "string" else _value(text)
    return variables


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _recipe_or_none(entry: RecipeFile) -> Recipe | None:
    from contextive.recipes.recipe import Recipe

    return entry.outcome if isinstance(entry.outcome, Recipe) else None


def _recipe_to_dict(entry: RecipeFile) -> dict[str, Any]:
    recipe = _recipe_or_none(entry)
    facts: dict[str, Any] = {"name": entry.name, "source": entry.source, "file": entry.file}
    if recipe is None:
        return {**facts, "problem": str(entry.outcome)}
    return {
        **facts,
        "summary": recipe.summary,
        "variables": {
            name: {"type": v.type, "description": v.description}
            | ({"required": True} if v.required else {"default": v.default})
            for name, v in recipe.variables.items()
        },
        "steps": [{"id": step.id, "tool": step.tool, "description": step.description} for step in recipe.steps],
        "outputs": list(recipe.outputs),
    }
