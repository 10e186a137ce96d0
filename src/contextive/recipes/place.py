"""Where the recipes of a project are, and where their runs are written down."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RecipePlace:
    """The project, whose folder `recipes` holds its own recipes, and its state directory."""

    project: Path
    state: Path


RUNS_RECIPES = "recipe"
"""The label of tools that run recipes themselves. A recipe may not call one, so that none can run without end."""
