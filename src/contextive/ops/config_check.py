"""Finds what a valid configuration refers to and does not exist, so that the first call that needs it would fail."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextive.config import Config
from contextive.errors import ConfigError, ContextiveError
from contextive.recipes.catalog import RecipeCatalog
from contextive.recipes.recipe import RECIPE_RUNNER_LABEL, ModelCall, Recipe, RecipeStep
from contextive.recipes.template import TemplateError, paths_in
from contextive.recipes.workflow import recipe_from_workflow
from contextive.registry import Surface
from contextive.registry.dispatch import parse_arguments
from contextive.search.editor_links import EditorLinks

if TYPE_CHECKING:
    from contextive.models.router import ModelRouter
    from contextive.server.host import Host

_THIRD_PARTY_MODELS = {"sentence-transformers": "sentence_transformers", "fastembed": "fastembed"}
"""The package that each kind of embedding model needs."""


##= docs/spec/commands.md#check
##% The command `check` MUST report what would make a call fail: unknown tools and arguments in workflows and recipes,
##% models and providers that cannot be used, and directories that do not exist.
def configuration_problems(host: Host) -> Iterator[str]:
    """Each problem as a sentence that names the setting."""
    surface = host.widest_surface(host.profile_with("workflows"))
    router = _router(host)
    for name, workflow in host.config.workflows.items():
        try:
            recipe = recipe_from_workflow(name, workflow)
        except ConfigError as error:
            yield error.message
            continue
        yield from _recipe_problems(f"workflows.{name}", recipe, surface, router)
    for entry in RecipeCatalog(host.loaded.project).entries():
        if entry.source == "project":
            try:
                yield from _recipe_problems(entry.file, entry.recipe(), surface, router)
            except ContextiveError as error:
                yield error.message
    yield from (f"providers: {problem}." for problem in router.problems)
    if host.config.routing and not router.available:
        yield "routing: no model provider can be used."
    yield from _embedding_problems(host.config)
    yield from _path_problems(host.config, host.loaded.project)


def _router(host: Host) -> ModelRouter:
    from contextive.server.build_router import build_router

    return build_router(host.loaded)


def _recipe_problems(place: str, recipe: Recipe, surface: Surface, router: ModelRouter) -> Iterator[str]:
    for step in recipe.all_steps():
        if isinstance(step.action, ModelCall):
            if not router.available:
                yield f"{place}: the step {step.id} asks the model {step.action.model}, but there is no provider."
        elif problem := _tool_problem(step, surface):
            yield f"{place}: the step {step.id} cannot run: {problem}"


def _tool_problem(step: RecipeStep, surface: Surface) -> str:
    """Why the tool of a step cannot be called; empty if it can."""
    assert not isinstance(step.action, ModelCall)
    try:
        tool = surface.tool(step.action.tool)
        if RECIPE_RUNNER_LABEL in tool.labels:
            return f"{tool.name} runs recipes, and a recipe cannot run another one."
        known = tool.input_schema.get("properties", {})
        if unknown := [name for name in step.action.params if name not in known]:
            return f"{tool.name} has no argument {unknown[0]!r}. Its arguments: {', '.join(known) or 'none'}."
        if missing := [name for name in tool.input_schema.get("required", ()) if name not in step.action.params]:
            return f"{tool.name} needs the argument {missing[0]!r}."
        if not _has_template(step.action.params):
            parse_arguments(tool, step.action.params)
    except ContextiveError as error:
        return error.full_message()
    return ""


def _has_template(params: Mapping[str, Any]) -> bool:
    try:
        return any(True for _ in paths_in(params))
    except TemplateError:
        return True  # reported when the recipe is parsed


def _embedding_problems(config: Config) -> Iterator[str]:
    knowledge = config.knowledge
    kind, _, _ = knowledge.embedding_model.partition(":")
    package = _THIRD_PARTY_MODELS.get(kind)
    if package is not None and importlib.util.find_spec(package) is None:
        yield f"knowledge.embeddingModel: {knowledge.embedding_model} needs the Python package {kind}."
    if kind == "openai" and knowledge.embedding_url is None and knowledge.embedding_key is None:
        yield f"knowledge.embeddingModel: {knowledge.embedding_model} needs knowledge.embeddingKey."


def _path_problems(config: Config, project: Path) -> Iterator[str]:
    knowledge = config.knowledge
    content_root = (project / Path(knowledge.content_root).expanduser()).resolve()
    if not content_root.is_relative_to(project.resolve()):
        yield "knowledge.contentRoot: outside the project, where documents are not indexed and so are refused."
    for root in knowledge.upload_roots:
        if not (project / Path(root).expanduser()).is_dir():
            yield f"knowledge.uploadRoots: there is no directory {root}."
    if knowledge.gateway_ca_file and not (project / Path(knowledge.gateway_ca_file).expanduser()).is_file():
        yield f"knowledge.gatewayCaFile: there is no file {knowledge.gateway_ca_file}."
    for name, provider in config.providers.items():
        listed = provider.llms_txt
        if listed and "://" not in listed and not (project / listed).is_file():
            yield f"providers.{name}.llmsTxt: there is no file {listed}."
    if (template := knowledge.editor_uri_template) and not EditorLinks(template).link("a", 1, 1):
        yield f"knowledge.editorUriTemplate: {template} has an unknown placeholder."
