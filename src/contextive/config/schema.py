"""The whole configuration as one model, and the JSON Schema that is generated from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import Any

from pydantic import ConfigDict, Field
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from contextive.config.entries import Provider, Route, ToolPack, Workflow
from contextive.config.sections import Auth, Backup, Evidence, Knowledge, Limits, Notes, Search, Server, Store, Trace
from contextive.config.values import Name, Section, Text

DIALECT = "https://json-schema.org/draft/2020-12/schema"


##= docs/spec/host.md#sections
##% The configuration MUST be a single object.
##= docs/spec/host.md#sections
##% Every key MUST be optional, unless its entry would be meaningless without it.
class Config(Section):
    """Settings of contextive-mcp; every key is optional."""

    model_config = ConfigDict(title="Contextive configuration")

    schema_uri: str | None = Field(
        None, alias="$schema", description="Address of this JSON Schema, for editors; not used otherwise."
    )
    server: Server = Field(default_factory=Server, description="How clients reach the server.")
    providers: Mapping[Name, Provider] = Field(
        default_factory=dict, description="Services that run models, by a name of your choice."
    )
    tool_packs: Mapping[Name, ToolPack] = Field(
        default_factory=dict, description="Packs (sets of tools) to switch on or off, by name."
    )
    workflows: Mapping[Name, Workflow] = Field(
        default_factory=dict, description="Sequences of steps, each offered as one tool, by name."
    )
    routing: Mapping[Text, Route] = Field(
        default_factory=dict, description="Models for kinds of tasks, by the name of the task."
    )
    notes: Notes = Field(default_factory=Notes, description="Which files are notes.")
    trace: Trace = Field(default_factory=Trace, description="Specifications, and the sources that cite them.")
    evidence: Evidence = Field(default_factory=Evidence, description="Results of tests that are read.")
    knowledge: Knowledge = Field(default_factory=Knowledge, description="What is indexed, and where uploads go.")
    search: Search = Field(default_factory=Search, description="How search results are ranked.")
    store: Store = Field(default_factory=Store, description="Where the index is stored.")
    backup: Backup = Field(default_factory=Backup, description="Backups of the index.")
    auth: Auth = Field(default_factory=Auth, description="Tokens of HTTP clients.")
    limits: Limits = Field(default_factory=Limits, description="Limits for requests and results.")


##= docs/spec/host.md#validation
##% The model and the JSON Schema MUST accept the same documents.
class _SchemaGenerator(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:
        return False  # a title that repeats the key is useless in an editor

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        # patternProperties alone would accept every name that does not match.
        generated = super().dict_schema(schema)
        for pattern, value_schema in generated.pop("patternProperties", {}).items():
            generated["propertyNames"] = {"pattern": pattern}
            generated["additionalProperties"] = value_schema
        return generated


@cache
def shared_json_schema() -> dict[str, Any]:
    """The JSON Schema, as a shared value that must not be changed."""
    return {"$schema": DIALECT, **Config.model_json_schema(schema_generator=_SchemaGenerator)}


##= docs/spec/host.md#validation
##% The JSON Schema of the configuration MUST be generated from the model in the code.
def config_json_schema() -> dict[str, Any]:
    """A copy of the JSON Schema (2020-12) of a configuration document."""
    return deepcopy(shared_json_schema())


def schema_text() -> str:
    """The text of docs/config.schema.json."""
    return json.dumps(shared_json_schema(), indent=2, ensure_ascii=False) + "\n"


def parse_values(values: Mapping[str, Any]) -> Config:
    """The configuration that a parsed document describes; raises pydantic's ValidationError."""
    return Config.model_validate(values, by_alias=True, by_name=False)
