"""Loads the configuration from command-line options and the environment. No other module of the CLI reads them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from contextive.cli.printing import escape_log_lines
from contextive.config import ConfigRequest, LoadedConfig, TrustStore, default_trust_path, load_config
from contextive.errors import UsageError
from contextive.packs import BUILTIN

if TYPE_CHECKING:
    from contextive.server.host import Host, Mode


def project_dir(options: argparse.Namespace) -> Path:
    project = Path(options.project or Path.cwd()).resolve()
    if not project.is_dir():
        raise UsageError(f"The project directory {options.project} does not exist.")
    return project


def trust_store() -> TrustStore:
    return TrustStore(default_trust_path(os.environ))


def token_key_path() -> Path:
    """The path of the user's key that seals issued tokens. It is next to the list of trusted files, outside every project."""
    return default_trust_path(os.environ).with_name("token.key")


def config_loader(options: argparse.Namespace) -> Callable[[], LoadedConfig]:
    """A function that loads the configuration, now or again later. Flags override file and environment."""
    escape_log_lines()
    request = ConfigRequest(
        project=project_dir(options),
        explicit=options.config,
        environ=dict(os.environ),
        trust=trust_store(),
        builtin_packs=frozenset(BUILTIN),
    )

    def load() -> LoadedConfig:
        loaded = load_config(request)
        flags: dict[str, object] = {}
        if getattr(options, "profile", None):
            flags["profile"] = options.profile
        if getattr(options, "allow_writes", False):
            flags["allow_writes"] = True
        if not flags:
            return loaded
        from dataclasses import replace

        server = loaded.config.server.model_copy(update=flags)
        return replace(loaded, config=loaded.config.model_copy(update={"server": server}))

    return load


def open_host(options: argparse.Namespace, mode: Mode = "in-process") -> Host:
    """The host with the configuration that the options name, without serving it."""
    from contextive.server.host import Host
    from contextive.server.pipes import stdout_to_stderr

    loaded = config_loader(options)()
    with stdout_to_stderr():
        host = Host(loaded, mode=mode, token_key=token_key_path())
    host.log_plugin_problems()
    return host
