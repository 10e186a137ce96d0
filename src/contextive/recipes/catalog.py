"""The recipes of a project: built-in ones, and those in its folder `recipes`, which replace built-in ones of the same name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

from contextive.errors import RecipeNotFound, SchemaInvalid
from contextive.recipes.recipe import Recipe
from contextive.recipes.schema import MAX_BYTES, parse_recipe
from contextive.workspace.files import FileText, ProjectFiles

FOLDER = "recipes"
_MAX_FILES = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_EXTENSIONS = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class RecipeFile:
    """A recipe file: name, origin, text, and the recipe or the error in it."""

    name: str
    source: Literal["project", "shipped"]
    file: str
    text: str
    outcome: Recipe | SchemaInvalid

    def recipe(self) -> Recipe:
        """The recipe. Raises `SchemaInvalid` if it is invalid."""
        if isinstance(self.outcome, SchemaInvalid):
            raise self.outcome
        return self.outcome


@dataclass(frozen=True, slots=True)
class RecipeCatalog:
    """The recipes of a project. Every call reads the current files."""

    project: Path

    ##= docs/spec/models-and-recipes.md#recipe-sources
    ##% A recipe of the project MUST take precedence over a shipped recipe of the same name.
    def entries(self) -> list[RecipeFile]:
        """All recipes, sorted by name."""
        found = {entry.name: entry for entry in (*_shipped_recipes(), *self._project_recipes())}
        return [found[name] for name in sorted(found)]

    ##= docs/spec/models-and-recipes.md#recipe-sources
    ##% A call MUST run the recipe as it was last saved before the call.
    ##= docs/spec/models-and-recipes.md#km-recipe-run
    ##% An unknown recipe MUST be refused with `recipe_not_found`.
    def entry(self, name: str) -> RecipeFile:
        """The recipe of that name. Raises `RecipeNotFound`. Other files, which may be slow to read, are not read."""
        for entry in (*self._project_recipes(name), *_shipped_recipes(name)):
            return entry
        printable = "".join(c if c.isprintable() else "?" for c in name[:60])
        raise RecipeNotFound(f"No recipe {printable!r}.", hint=f"Recipes: {', '.join(self._names())}.")

    def _names(self) -> list[str]:
        project_names = (Path(file).stem for file in _recipe_file_names(self.project / FOLDER))
        return sorted({*project_names, *(name for name, _ in _shipped_files())})

    def _project_recipes(self, only: str | None = None) -> list[RecipeFile]:
        files = ProjectFiles(self.project.resolve(), self.project.resolve(), max_bytes=MAX_BYTES)
        entries: list[RecipeFile] = []
        seen: set[str] = set()
        for file in _recipe_file_names(self.project / FOLDER):
            name = Path(file).stem
            if name in seen or only not in (None, name):
                continue  # x.yaml wins over x.yml
            seen.add(name)
            read = files.read(f"{FOLDER}/{file}")
            if isinstance(read, FileText):
                entries.append(_entry(name, "project", f"{FOLDER}/{file}", read.text))
            else:
                problem = SchemaInvalid(f"{FOLDER}/{file}: {read.reason}.")
                entries.append(RecipeFile(name, "project", f"{FOLDER}/{file}", "", problem))
        return entries


def read_recipe_file(path: Path) -> RecipeFile:
    """The recipe in a file outside the catalog."""
    read = ProjectFiles(path.parent, max_bytes=MAX_BYTES).read(path.name)
    if isinstance(read, FileText):
        return _entry(path.stem, "project", path.name, read.text)
    return RecipeFile(path.stem, "project", path.name, "", SchemaInvalid(f"{path.name}: {read.reason}."))


def _recipe_file_names(folder: Path) -> list[str]:
    """The names of the recipe files in a folder, sorted, and few enough to read all of them on every call."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
    valid = [name for name in names if name.endswith(_EXTENSIONS) and _NAME.fullmatch(name.rpartition(".")[0])]
    return valid[:_MAX_FILES]


##= docs/spec/models-and-recipes.md#recipe-sources
##% The recipes `daily-health`, `release-prep`, `stale-audit`, `subsystem-freshness`, `post-restore-verify`,
##% `authoring-loop`, `feedback-triage` and `spec-audit` MUST ship.
def _shipped_recipes(only: str | None = None) -> list[RecipeFile]:
    return [
        _entry(name, "shipped", f"shipped/{file.name}", file.read_text(encoding="utf-8"))
        for name, file in _shipped_files()
        if only in (None, name)
    ]


def _shipped_files() -> list[tuple[str, Traversable]]:
    folder = resources.files("contextive.recipes") / "shipped"
    return [(file.name.removesuffix(".yaml"), file) for file in folder.iterdir() if file.name.endswith(".yaml")]


def _entry(name: str, source: Literal["project", "shipped"], file: str, text: str) -> RecipeFile:
    outcome: Recipe | SchemaInvalid
    try:
        outcome = parse_recipe(text, name, file)
    except SchemaInvalid as problem:
        outcome = problem
    return RecipeFile(name, source, file, text, outcome)
