"""Loads the configuration: find, parse, drop untrusted settings, expand variables, apply the environment, validate.

The order matters. Settings that an untrusted file may not set are dropped before any variable is expanded. Settings from
the environment come later, because the user is trusted. Only a validated configuration is returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from contextive.config.consistency import check_consistency
from contextive.config.discovery import ConfigSource, FoundConfigFile, find_config_file
from contextive.config.document import parse_config
from contextive.config.environment import apply_environment
from contextive.config.expansion import Expansion, expand
from contextive.config.problems import ConfigProblem, ValueOrigins, as_config_error, describe_errors, unknown_keys
from contextive.config.schema import Config, parse_values
from contextive.config.state_directory import check_state_directory
from contextive.config.trust import TrustStore
from contextive.config.untrusted_settings import IgnoredSetting, drop_restricted_keys, drop_restricted_values


@dataclass(frozen=True, slots=True)
class ConfigRequest:
    """The input of `load_config`: the project, the file named by the user, the environment and the trusted files."""

    project: Path
    explicit: Path | None = None
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    trust: TrustStore | None = None
    builtin_packs: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A valid configuration, its source, and which settings were ignored or overridden."""

    config: Config
    path: Path | None
    source: ConfigSource
    trusted: bool
    ignored: tuple[IgnoredSetting, ...]
    overrides: tuple[str, ...]
    project: Path


##= docs/spec/host.md#startup
##% At every start, the server MUST validate the whole configuration before it serves anything.
##= docs/spec/host.md#configuration-file
##% Without any configuration file, the built-in defaults MUST be used.
def load_config(request: ConfigRequest) -> LoadedConfig:
    """The effective configuration; raises a ConfigError that lists all problems."""
    found = find_config_file(request.project, request.explicit, request.environ)
    document = parse_config(found.path.name, found.content) if found else None
    trusted = _is_trusted(found, request.trust)
    problems: list[ConfigProblem] = []
    ignored: list[IgnoredSetting] = []

    values = deepcopy(document.values) if document else {}
    if not trusted:
        problems += _unknown_keys(values)
        ignored += drop_restricted_keys(values, request.builtin_packs)
    expansion = expand(values, request.environ)
    if not trusted:
        ignored += drop_restricted_values(expansion.values)
    overrides = apply_environment(expansion.values, request.environ)
    problems += [
        ConfigProblem(path, f"refers to the environment variable {name}, which is not set")
        for path, name in expansion.undefined
        if overrides.source_of(path) is None
    ]
    problems += [ConfigProblem((), text, variable=name) for name, text in overrides.faults]

    origins = ValueOrigins(expansion.values, overrides, frozenset(expansion.expanded))
    config = _validate(expansion, origins, problems)
    ##= docs/spec/host.md#startup
    ##% An invalid configuration MUST prevent the server from starting.
    if config is None:
        raise as_config_error(problems, document)
    check_state_directory(request.project, config.store.state_path)
    return LoadedConfig(
        config=config,
        path=found.path if found else None,
        source=found.source if found else "defaults",
        trusted=trusted,
        ignored=tuple(ignored),
        overrides=tuple(sorted(overrides.sources.values())),
        project=request.project,
    )


##= docs/spec/host.md#trust
##% A configuration file found in the project directory MUST be untrusted until the user trusts it.
##= docs/spec/host.md#trust
##% Files named by the user and settings from the environment MUST be trusted.
def _is_trusted(found: FoundConfigFile | None, store: TrustStore | None) -> bool:
    """Whether the user named the file, or trusted its current content."""
    if found is None or found.source != "project":
        return True
    return store is not None and store.is_trusted(found.path, found.content)


##= docs/spec/host.md#validation
##% The configuration MUST be validated against the model in the code.
def _validate(expansion: Expansion, origins: ValueOrigins, problems: list[ConfigProblem]) -> Config | None:
    """The configuration; if it is invalid, None, and the errors are added to the problems."""
    try:
        config = parse_values(expansion.values)
    except ValidationError as error:
        problems += describe_errors(error, origins)
        return None
    problems += [origins.problem(path, text) for path, text in check_consistency(config)]
    return None if problems else config


def _unknown_keys(values: dict[str, Any]) -> list[ConfigProblem]:
    try:
        parse_values(values)
    except ValidationError as error:
        return unknown_keys(error)
    return []
