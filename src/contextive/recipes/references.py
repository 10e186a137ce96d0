"""Checks that the templates of a recipe refer only to variables, earlier steps and earlier captures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from contextive.config.keypath import KeyPath
from contextive.recipes.recipe import ModelCall, Recipe, RecipeStep, ResultCondition, ToolCall, Wait
from contextive.recipes.template import TemplateError, ValuePath, format_path, paths_in


class RecipeFault(Exception):
    """An error in a recipe that the schema does not detect, and its location."""

    def __init__(self, path: KeyPath, text: str) -> None:
        super().__init__(text)
        self.path = path
        self.text = text


##= docs/spec/models-and-recipes.md#recipe-sources
##% A template that refers to something unknown, or to something defined later, MUST be refused before anything runs.
def check_references(recipe: Recipe) -> None:
    """Raise `RecipeFault` for a duplicate id, or a template that refers to something unknown or defined later."""
    known = _KnownNames(set(recipe.variables))
    for index, step in enumerate(recipe.steps):
        location: KeyPath = ("steps", index)
        _check_step(step, location, known)
        inner = known.copy()
        for number, fallback in enumerate(step.fallback):
            _check_step(fallback, (*location, "fallback", number), inner)
            inner.add_step(fallback, (*location, "fallback", number))
        known.add_step(step, location)
        known.ids |= inner.ids
    for name, value in recipe.outputs.items():
        _check_value(value, ("outputs", name), known)


def variables_named(recipe: Recipe) -> list[str]:
    """The variables in templates, declared or not, in order."""
    found: dict[str, None] = {}
    for step in recipe.all_steps():
        for _location, value in _values(step, ()):
            found.update((name, None) for path in paths_in(value) if (name := _variable_in(path)) is not None)
    for value in recipe.outputs.values():
        found.update((name, None) for path in paths_in(value) if (name := _variable_in(path)) is not None)
    return list(found)


class _KnownNames:
    """The names that a template can refer to at one point of a recipe."""

    def __init__(self, variables: set[str]) -> None:
        self.variables = variables
        self.ids: set[str] = set()
        self.captures: set[str] = set()

    def copy(self) -> _KnownNames:
        copied = _KnownNames(self.variables)
        copied.ids, copied.captures = set(self.ids), set(self.captures)
        return copied

    def add_step(self, step: RecipeStep, location: KeyPath) -> None:
        if step.id in self.ids:
            raise RecipeFault((*location, "id"), f"the id {step.id} is already used by an earlier step")
        self.ids.add(step.id)
        self.captures |= {capture.name for capture in step.captures}


def _check_step(step: RecipeStep, location: KeyPath, known: _KnownNames) -> None:
    for where, value in _values(step, location):
        _check_value(value, where, known)
    conditions = [*step.asserts, *([step.action.until] if isinstance(step.action, Wait) else [])]
    for path in [*(c.path for c in conditions), *(c.path for c in step.captures if c.path is not None)]:
        if path[0] in ("vars", "steps", "captures") and len(path) > 1:
            _check_path(path, location, known)


def _values(step: RecipeStep, location: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """The parts of a step that may contain templates, with their locations."""
    match step.action:
        case ToolCall(_, params):
            yield (*location, "params"), params
        case ModelCall(_, prompt):
            yield (*location, "prompt"), prompt
        case Wait(_, params, ResultCondition(_, _, value)):
            yield (*location, "wait", "params"), params
            yield (*location, "wait", "until"), value
    for condition in step.asserts:
        yield (*location, "assert"), condition.value


def _check_value(value: Any, location: KeyPath, known: _KnownNames) -> None:
    try:
        for path in paths_in(value):
            _check_path(path, location, known)
    except TemplateError as fault:
        raise RecipeFault(location, str(fault)) from None


def _check_path(path: ValuePath, location: KeyPath, known: _KnownNames) -> None:
    match path:
        case ("steps", str(step), *_):
            exists, what = step in known.ids, "an earlier step"
        case ("captures", str(capture), *_):
            exists, what = capture in known.captures, "an earlier capture"
        case ("vars" | "steps" | "captures",) | ("result", *_) | ("vars" | "steps" | "captures", int(), *_):
            exists, what = False, "a value"
        case _:
            exists, what = _variable_in(path) in known.variables, "a variable"
    if not exists:
        raise RecipeFault(location, f"${{{format_path(path)}}} is not {what}")


def _variable_in(path: ValuePath) -> str | None:
    match path:
        case ("vars", str(name), *_):
            return name
        case ("vars" | "steps" | "captures" | "result", *_):
            return None
        case (str(name), *_):
            return name
        case _:
            return None
