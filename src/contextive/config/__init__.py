"""The configuration: finds, reads and validates it, and drops settings that only a trusted file may set.

The entry point is `load_config`. It takes a `ConfigRequest`, which has the environment, and returns a `LoadedConfig`. No
other package reads configuration files or settings from environment variables.
"""

from __future__ import annotations

from contextive.config.entries import (
    FallbackStep,
    ModelFacts,
    Provider,
    Route,
    Step,
    StepCondition,
    ToolPack,
    Workflow,
    WorkflowVariable,
)
from contextive.config.environment import env_aliases
from contextive.config.loader import ConfigRequest, LoadedConfig, load_config
from contextive.config.schema import Config, config_json_schema, schema_text
from contextive.config.sections import Auth, IssuedToken, Knowledge, Limits, Notes, Server, Store, Trace, Tracing
from contextive.config.settings import Setting, list_settings
from contextive.config.trust import TrustEntry, TrustStore, default_trust_path
from contextive.config.untrusted_settings import IgnoredSetting

__all__ = [
    "Auth",
    "Config",
    "ConfigRequest",
    "FallbackStep",
    "IgnoredSetting",
    "IssuedToken",
    "Knowledge",
    "Limits",
    "LoadedConfig",
    "ModelFacts",
    "Notes",
    "Provider",
    "Route",
    "Server",
    "Setting",
    "Step",
    "StepCondition",
    "Store",
    "ToolPack",
    "Trace",
    "Tracing",
    "TrustEntry",
    "TrustStore",
    "Workflow",
    "WorkflowVariable",
    "config_json_schema",
    "default_trust_path",
    "env_aliases",
    "list_settings",
    "load_config",
    "schema_text",
]
