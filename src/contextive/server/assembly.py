"""Builds the registry of packs that a configuration enables."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextive.config import Config
from contextive.errors import ConfigError
from contextive.packs import BUILTIN, OFF_BY_DEFAULT, REMOTE_PACKS, REMOTE_REWRITES, load_builtin
from contextive.registry import Limits, Pack, PackRules, Registry
from contextive.registry.plugins import PluginProblem, load_plugins

if TYPE_CHECKING:
    from contextive.registry.gateway_client import GatewayClient

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Assembly:
    """The registry for one configuration, and the plugins that could not be loaded."""

    registry: Registry
    plugins: tuple[str, ...]
    problems: tuple[PluginProblem, ...]
    gateway: GatewayClient | None = None
    """The gateway used instead of a local index, in remote mode."""


##= docs/spec/host.md#startup
##% At every start, the server MUST register the packs, resources and prompts that the configuration enables.
##= docs/spec/host.md#discovery
##% A plugin without a mode MUST be read-only.
def assemble(config: Config, extra_packs: Sequence[Pack] = ()) -> Assembly:
    """Load the packs that a configuration enables.

    A built-in pack that fails to load is a bug and raises; a plugin that fails is reported in `problems`.
    """
    ##= docs/spec/host.md#discovery
    ##% A disabled pack MUST offer nothing.
    wanted = [
        name
        for name in BUILTIN
        if (config.tool_packs[name].enabled if name in config.tool_packs else name not in OFF_BY_DEFAULT)
    ]
    packs = [*map(load_builtin, (name for name in wanted if name != "workflows")), *extra_packs]
    gateway = _gateway(config)
    if gateway is not None:
        from contextive.registry.remote_pack import remote_pack

        packs = [
            remote_pack(pack, gateway, REMOTE_PACKS[pack.name], REMOTE_REWRITES) if pack.name in REMOTE_PACKS else pack
            for pack in packs
        ]
    ##= docs/spec/host.md#discovery
    ##% A plugin MUST be loaded only when the configuration names it.
    plugin_names = [name for name, pack in config.tool_packs.items() if name not in BUILTIN and pack.enabled]
    plugins = load_plugins(plugin_names, packs, config.limits.plugin_load_seconds)
    rules = {
        name: PackRules(
            writes=(pack.mode == "read-write") if pack.mode is not None else name in BUILTIN,
            allowed=frozenset(pack.allowed_tools) if pack.allowed_tools is not None else None,
            blocked=frozenset(pack.blocked_tools),
            settings=pack.settings,
            listed=pack.tools if isinstance(pack.tools, str) else frozenset(pack.tools),
        )
        for name, pack in config.tool_packs.items()
    }
    all_packs = [*packs, *plugins.packs]
    if "workflows" in wanted and config.workflows:
        from contextive.packs.workflows import workflow_pack

        all_packs.append(workflow_pack(config.workflows, all_packs))
    _check_tool_names(all_packs, rules)
    return Assembly(
        Registry(all_packs, rules), tuple(pack.name for pack in plugins.packs), tuple(plugins.problems), gateway
    )


##= docs/spec/gateway.md#remote-mode
##% With `KM_GATEWAY_URL` set, calls to the tools of the pack `knowledge` MUST be sent to that gateway, and all other
##% calls are handled locally.
##= docs/spec/gateway.md#remote-mode
##% The server MUST warn if tokens would be sent to another machine without TLS.
def _gateway(config: Config) -> GatewayClient | None:
    knowledge = config.knowledge
    if knowledge.gateway_url is None:
        return None
    from contextive.registry.gateway_client import GatewayClient, GatewaySettings

    settings = GatewaySettings(
        url=knowledge.gateway_url,
        reader_token=config.auth.reader_token,
        admin_token=config.auth.admin_token,
        timeout_seconds=knowledge.gateway_timeout_seconds,
        verify_ssl=knowledge.gateway_verify_ssl,
        ca_file=knowledge.gateway_ca_file,
        max_bytes=2 * config.limits.max_result_bytes,
    )
    if settings.sends_tokens_unencrypted:
        logger.warning("tokens are sent to the gateway without TLS; use https in knowledge.gatewayUrl")
    return GatewayClient(settings)


def limits_of(config: Config) -> Limits:
    return Limits(
        timeout_seconds=config.limits.tool_timeout_seconds,
        result_bytes=config.limits.max_result_bytes,
        page_size=config.limits.page_size,
    )


##= docs/spec/host.md#discovery
##% A name in `allowedTools` or `blockedTools` that the pack does not have MUST be an error.
def _check_tool_names(packs: Sequence[Pack], rules: dict[str, PackRules]) -> None:
    """Raise for an unknown name in allowedTools or blockedTools: a typo could silently allow the wrong tool."""
    for pack in packs:
        rule = rules.get(pack.name)
        if rule is None:
            continue
        names = {tool.name for tool in pack.tools}
        chosen = rule.listed if isinstance(rule.listed, frozenset) else frozenset()
        for key, given in (
            ("allowedTools", rule.allowed or frozenset()),
            ("blockedTools", rule.blocked),
            ("tools", chosen),
        ):
            if unknown := sorted(given - names):
                raise ConfigError(
                    f"toolPacks.{pack.name}.{key}: the pack has no tool {unknown[0]!r}.",
                    hint=f"Its tools: {', '.join(sorted(names)) or 'none'}.",
                )
