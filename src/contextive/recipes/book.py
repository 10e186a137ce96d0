"""All recipes of a project: those that ship, and those in its folder `recipes`, which win by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

from contextive.errors import RecipeNotFound, SchemaInvalid
from contextive.recipes.recipe import Recipe
from contextive.recipes.schema import MAX_BYTES, parse_recipe
from contextive.workspace.files import FileText, ProjectFiles

FOLDER = "recipes"
_MAX_FILES = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_ENDINGS = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class BookEntry:
    """One recipe by name: where it comes from, its text, and the recipe or what is wrong with it."""

    name: str
    source: Literal["project", "shipped"]
    file: str
    text: str
    outcome: Recipe | SchemaInvalid

    def recipe(self) -> Recipe:
        """The recipe; raises `SchemaInvalid` where it cannot run."""
        if isinstance(self.outcome, SchemaInvalid):
            raise self.outcome
        return self.outcome


@dataclass(frozen=True, slots=True)
class RecipeBook:
    """The recipes as the files are now: each call looks again."""

    project: Path

    def entries(self) -> list[BookEntry]:
        """Every recipe, by name."""
        found = {entry.name: entry for entry in (*_shipped(), *self._own())}
        return [found[name] for name in sorted(found)]

    def entry(self, name: str) -> BookEntry:
        """The recipe of that name; raises `RecipeNotFound`."""
        entries = self.entries()
        for entry in entries:
            if entry.name == name:
                return entry
        shown = "".join(c if c.isprintable() else "?" for c in name[:60])
        raise RecipeNotFound(f"No recipe {shown!r}.", hint=f"Recipes: {', '.join(e.name for e in entries)}.")

    def _own(self) -> list[BookEntry]:
        files = ProjectFiles(self.project.resolve(), self.project.resolve(), max_bytes=MAX_BYTES)
        entries: list[BookEntry] = []
        seen: set[str] = set()
        for file in _listed(self.project / FOLDER):
            name = Path(file).stem
            if name in seen:
                continue  # x.yaml counts before x.yml
            seen.add(name)
            read = files.read(f"{FOLDER}/{file}")
            if isinstance(read, FileText):
                entries.append(_entry(name, "project", f"{FOLDER}/{file}", read.text))
            else:
                problem = SchemaInvalid(f"{FOLDER}/{file}: {read.reason}.")
                entries.append(BookEntry(name, "project", f"{FOLDER}/{file}", "", problem))
        return entries


def read_entry(path: Path) -> BookEntry:
    """A recipe out of any file that the user names."""
    read = ProjectFiles(path.parent, max_bytes=MAX_BYTES).read(path.name)
    if isinstance(read, FileText):
        return _entry(path.stem, "project", path.name, read.text)
    return BookEntry(path.stem, "project", path.name, "", SchemaInvalid(f"{path.name}: {read.reason}."))


def _listed(folder: Path) -> list[str]:
    """The recipe files of a folder, by name and so few that each can be read at every call."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
    fitting = [name for name in names if name.endswith(_ENDINGS) and _NAME.fullmatch(name.rpartition(".")[0])]
    return fitting[:_MAX_FILES]


def _shipped() -> list[BookEntry]:
    folder = resources.files("contextive.recipes") / "shipped"
    return [
        _entry(file.name.removesuffix(".yaml"), "shipped", f"shipped/{file.name}", file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".yaml")
    ]


def _entry(name: str, source: Literal["project", "shipped"], file: str, text: str) -> BookEntry:
    outcome: Recipe | SchemaInvalid
    try:
        outcome = parse_recipe(text, name, file)
    except SchemaInvalid as problem:
        outcome = problem
    return BookEntry(name, source, file, text, outcome)
