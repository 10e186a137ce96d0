"""Whether everything that a recipe names is there by the time it is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from contextive.config.keypath import KeyPath
from contextive.recipes.recipe import ModelCall, Recipe, RecipeStep, ResultCondition, ToolCall, Wait
from contextive.recipes.template import TemplateError, ValuePath, format_path, paths_in


class RecipeFault(Exception):
    """Something about a recipe that its form alone does not show, and where it stands."""

    def __init__(self, path: KeyPath, text: str) -> None:
        super().__init__(text)
        self.path = path
        self.text = text


##= docs/spec/models-and-recipes.md#recipe-sources
##% A template that refers to something unknown, or to something defined later, MUST be refused before anything runs.
def check_references(recipe: Recipe) -> None:
    """Raise `RecipeFault` for a double id, or a template that names something unknown or later."""
    known = _KnownNames(set(recipe.variables))
    for index, step in enumerate(recipe.steps):
        place: KeyPath = ("steps", index)
        _check_step(step, place, known)
        inner = known.copy()
        for number, fallback in enumerate(step.fallback):
            _check_step(fallback, (*place, "fallback", number), inner)
            inner.add_step(fallback, (*place, "fallback", number))
        known.add_step(step, place)
        known.ids |= inner.ids
    for name, value in recipe.outputs.items():
        _check_value(value, ("outputs", name), known)


def variables_named(recipe: Recipe) -> list[str]:
    """The variables that templates name, declared or not, in order."""
    found: dict[str, None] = {}
    for step in recipe.all_steps():
        for _place, value in _values(step, ()):
            found.update((name, None) for path in paths_in(value) if (name := _variable_in(path)) is not None)
    for value in recipe.outputs.values():
        found.update((name, None) for path in paths_in(value) if (name := _variable_in(path)) is not None)
    return list(found)


class _KnownNames:
    """What a template can name at one place of a recipe."""

    def __init__(self, variables: set[str]) -> None:
        self.variables = variables
        self.ids: set[str] = set()
        self.captures: set[str] = set()

    def copy(self) -> _KnownNames:
        copied = _KnownNames(self.variables)
        copied.ids, copied.captures = set(self.ids), set(self.captures)
        return copied

    def add_step(self, step: RecipeStep, place: KeyPath) -> None:
        if step.id in self.ids:
            raise RecipeFault((*place, "id"), f"the id {step.id} is taken by an earlier step")
        self.ids.add(step.id)
        self.captures |= {capture.name for capture in step.captures}


def _check_step(step: RecipeStep, place: KeyPath, known: _KnownNames) -> None:
    for where, value in _values(step, place):
        _check_value(value, where, known)
    conditions = [*step.asserts, *([step.action.until] if isinstance(step.action, Wait) else [])]
    for path in [*(c.path for c in conditions), *(c.path for c in step.captures if c.path is not None)]:
        if path[0] in ("vars", "steps", "captures") and len(path) > 1:
            _check_path(path, place, known)


def _values(step: RecipeStep, place: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """The parts of a step that may hold templates."""
    match step.action:
        case ToolCall(_, params):
            yield (*place, "params"), params
        case ModelCall(_, prompt):
            yield (*place, "prompt"), prompt
        case Wait(_, params, ResultCondition(_, _, value)):
            yield (*place, "wait", "params"), params
            yield (*place, "wait", "until"), value
    for condition in step.asserts:
        yield (*place, "assert"), condition.value


def _check_value(value: Any, place: KeyPath, known: _KnownNames) -> None:
    try:
        for path in paths_in(value):
            _check_path(path, place, known)
    except TemplateError as fault:
        raise RecipeFault(place, str(fault)) from None


def _check_path(path: ValuePath, place: KeyPath, known: _KnownNames) -> None:
    match path:
        case ("steps", str(step), *_):
            there, what = step in known.ids, "step that ran before it"
        case ("captures", str(capture), *_):
            there, what = capture in known.captures, "value captured before it"
        case ("vars" | "steps" | "captures",) | ("result", *_) | ("vars" | "steps" | "captures", int(), *_):
            there, what = False, "value"
        case _:
            there, what = _variable_in(path) in known.variables, "variable"
    if not there:
        raise RecipeFault(place, f"${{{format_path(path)}}} names no {what}")


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
