"""The model router: chooses a model for a request, calls it, and warns if another model was used."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from contextive.errors import ContextiveError, NoModel, UpstreamError
from contextive.models.catalog import ModelCatalog, fits
from contextive.models.provider import Provider
from contextive.models.request import ModelInfo, ModelRequest, ModelResponse, ModelUse, ResolvedModel, Usage

logger = logging.getLogger(__name__)

_REDISCOVER_SECONDS = 3600.0
_NO_PROVIDER = (
    "Add a provider with a model under providers in the configuration; an API key in the environment alone is not enough. "
    "Providers in the configuration file of a project need contextive-mcp trust. See docs/models.md."
)


@dataclass(frozen=True, slots=True)
class TaskRoute:
    """The model for one task, and its backup."""

    model: str
    backup: str | None = None


class ModelFinder(Protocol):
    """Finds models that are not configured."""

    async def find(self, providers: Sequence[Provider]) -> Sequence[ModelInfo]: ...


##= docs/spec/models-and-recipes.md#model-router
##% The router MUST receive its providers, catalog, routes and finder as arguments, so that it can be tested in
##% isolation.
@dataclass
class ModelRouter:
    """Chooses and calls models, from the providers, the known models and the routing table."""

    providers: Mapping[str, Provider] = field(default_factory=dict)
    catalog: ModelCatalog = field(default_factory=ModelCatalog)
    routing: Mapping[str, TaskRoute] = field(default_factory=dict)
    finder: ModelFinder | None = None
    problems: tuple[str, ...] = ()
    """Messages about configured providers that cannot be used."""
    observers: list[Callable[[ModelUse], None]] = field(default_factory=list)
    _discovered_at: float | None = field(default=None, init=False)
    _discovery_lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @property
    def available(self) -> bool:
        """Whether there is any provider."""
        return bool(self.providers)

    @property
    def setup_hint(self) -> str:
        """What to configure if there is no provider, and why the configured ones cannot be used."""
        return " ".join((*(f"{problem[0].upper()}{problem[1:]}." for problem in self.problems), _NO_PROVIDER))

    ##= docs/spec/models-and-recipes.md#model-router
    ##% The server MUST have a model router that picks a model for a request and invokes it.
    ##= docs/spec/models-and-recipes.md#model-selection
    ##% When no model fits, the error MUST be `no_model` and say what to configure.
    def pick(self, request: ModelRequest) -> ResolvedModel:
        """The model for a request, among the known models. Raises `NoModel` if there is none."""
        if not self.providers:
            raise NoModel("No model provider is configured.", hint=self.setup_hint)
        ##= docs/spec/models-and-recipes.md#model-selection
        ##% A model named in the request MUST take precedence over a task, and a task over everything else.
        if request.model is not None:
            return self._named(request.model, self._backup_of(request.model), request)
        route = self.routing.get(request.task or "", self.routing.get("default"))
        if route is not None:
            return self._named(route.model, route.backup, request)
        return self._best(request)

    ##= docs/spec/models-and-recipes.md#model-selection
    ##% A configured backup MUST answer when the model is missing, too small or fails, and the answer says so.
    async def invoke(self, resolved: ResolvedModel, request: ModelRequest) -> ModelResponse:
        """The answer of the chosen model, or of its backup with a warning."""
        try:
            response = await self._ask(resolved.info, request)
        except ContextiveError as error:
            if resolved.backup is None:
                raise
            warning = (
                f"The model {resolved.info.label} failed ({error.code}); {resolved.backup.label} answered instead."
            )
            logger.warning(warning)
            resolved = replace(resolved, warnings=(*resolved.warnings, warning))
            assert resolved.backup is not None
            response = await self._ask(resolved.backup, request)
        return replace(response, warnings=(*resolved.warnings, *response.warnings))

    async def resolve(self, request: ModelRequest) -> ResolvedModel:
        """Like `pick`, but discovers more models before it fails."""
        try:
            return self.pick(request)
        except NoModel:
            if not await self.discover():
                raise
        return self.pick(request)

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """Choose a model and call it."""
        return await self.invoke(await self.resolve(request), request)

    async def discover(self) -> bool:
        """Discover more models, at most once an hour. False if discovery is not possible."""
        if self.finder is None or not self.providers:
            return False
        async with self._discovery_lock:
            if self._discovered_at is not None and time.monotonic() - self._discovered_at < _REDISCOVER_SECONDS:
                return True
            self.catalog.merge(await self.finder.find(list(self.providers.values())))
            self._discovered_at = time.monotonic()
        return True

    def _backup_of(self, name: str) -> str | None:
        """The backup of a model that the request names: from a route to it, or else from the default route."""
        routes = [route for route in self.routing.values() if route.model == name and route.backup is not None]
        if "default" in self.routing:
            routes.append(self.routing["default"])
        return routes[0].backup if routes else None

    def _named(self, name: str, backup_name: str | None, request: ModelRequest) -> ResolvedModel:
        """The model of that name, or its backup if it is unknown, too small or too expensive."""
        model, backup = self._find(name), self._find(backup_name) if backup_name else None
        if backup is not None and not fits(backup, request):
            backup = None
        if model is not None and fits(model, request):
            return ResolvedModel(model, backup if backup != model else None)
        reason = "is unknown" if model is None else "is too small or too expensive for this request"
        if backup is None:
            raise NoModel(
                f"The model {_printable_name(name)} {reason}.",
                hint=f"Known: {', '.join(m.label for m in list(self.catalog)[:10]) or 'none'}.",
            )
        warning = f"The model {_printable_name(name)} {reason}; {backup.label} was used instead."
        logger.warning(warning)
        return ResolvedModel(backup, warnings=(warning,))

    def _best(self, request: ModelRequest) -> ResolvedModel:
        suitable = [model for model in self.catalog.fitting(request) if model.provider in self.providers]
        if not suitable:
            raise NoModel(
                f"No configured model has a context window of {request.context_tokens} tokens.",
                hint="Configure a model with a larger window under providers or routing, or request less.",
            )
        criteria = [request.family, request.max_cost]
        # Without criteria, the first default model in the configuration is the user's choice.
        chosen = suitable[0] if any(criterion is not None for criterion in criteria) else self._first(suitable)
        return ResolvedModel(chosen)

    def _first(self, suitable: Sequence[ModelInfo]) -> ModelInfo:
        return next(model for model in self.catalog if model in suitable)

    def _find(self, name: str) -> ModelInfo | None:
        """A model by name. An unknown model is assumed to exist at the provider in its name, or at the only provider."""
        known = self.catalog.find(name)
        if known is not None and known.provider in self.providers:
            return known
        provider, slash, rest = name.partition("/")
        if slash and rest and provider in self.providers:
            return ModelInfo(rest, provider)
        if len(self.providers) == 1:
            return ModelInfo(name, next(iter(self.providers)))
        return None

    async def _ask(self, model: ModelInfo, request: ModelRequest) -> ModelResponse:
        provider = self.providers.get(model.provider)
        if provider is None:
            raise NoModel(f"The provider of {model.label} is not configured.")
        started = time.monotonic()
        usage, error = Usage(), None
        try:
            response = await provider.invoke(model.name, request)
            usage = response.usage
            if not response.text.strip():
                raise UpstreamError(f"The model {model.label} returned an empty answer.", hint="Try again.")
            return response
        except ContextiveError as failure:
            error = failure.code
            raise
        finally:
            use = ModelUse(model.provider, model.name, usage, time.monotonic() - started, error)
            for observer in self.observers:
                observer(use)


def _printable_name(name: str) -> str:
    """A model's name for a message, shortened and printable: it may come from an untrusted file."""
    return "".join(c if c.isprintable() else "?" for c in name[:80])
