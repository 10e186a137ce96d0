"""Builds the model router from the providers and routes of the configuration."""

from __future__ import annotations

from contextive.config import LoadedConfig
from contextive.models.catalog import ModelCatalog
from contextive.models.provider_setup import ProviderSettings, connect_providers
from contextive.models.request import ModelInfo
from contextive.models.router import ModelRouter, TaskRoute


##= docs/spec/models-and-recipes.md#model-router
##% The router MUST support static mappings from a task to a model in the configuration.
def build_router(loaded: LoadedConfig) -> ModelRouter:
    """The router for a configuration. No provider is contacted until a model is called."""
    from contextive.models.discovery import ModelDiscovery  # imports a network client

    config = loaded.config
    settings = {
        name: ProviderSettings(
            kind=entry.kind,
            api_key=entry.api_key,
            enabled=entry.enabled,
            default_model=entry.default_model,
            base_url=entry.base_url,
            timeout_seconds=entry.timeout_seconds,
            models=tuple(
                ModelInfo(model, name, facts.family, facts.context_window, facts.input_cost, facts.output_cost)
                for model, facts in entry.models.items()
            ),
        )
        for name, entry in config.providers.items()
    }
    connected = connect_providers(settings)
    return ModelRouter(
        providers=connected.providers,
        catalog=ModelCatalog(_configured_models(settings)),
        routing={task: TaskRoute(route.model, route.backup) for task, route in config.routing.items()},
        finder=ModelDiscovery(
            loaded.project,
            loaded.project / config.store.state_path / "models",
            {name: entry.llms_txt for name, entry in config.providers.items() if entry.llms_txt is not None},
        ),
        problems=connected.problems,
    )


def _configured_models(settings: dict[str, ProviderSettings]) -> list[ModelInfo]:
    """Default models first, in the order of the configuration, then all other configured models."""
    enabled = {name: entry for name, entry in settings.items() if entry.enabled}
    defaults = [ModelInfo(entry.default_model, name) for name, entry in enabled.items() if entry.default_model]
    return [*defaults, *(model for entry in enabled.values() for model in entry.models)]
