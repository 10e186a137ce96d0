"""Declarations of tools, resources and prompts, the registry of packs, and the dispatcher.

Pack authors import from here:

    from contextive.registry import Context, Pack, ToolInput, ToolOutput
"""

from contextive.registry.content import (
    Audio,
    Content,
    Image,
    PromptMessage,
    Reply,
    ResourceBody,
    ResourceLink,
    Text,
)
from contextive.registry.context import Client, Context, Freshness, InputNeeded, NoClient, Question, Services
from contextive.registry.declaration import (
    Annotations,
    NoInput,
    Pack,
    Prompt,
    PromptArgument,
    Resource,
    ResourceEntry,
    Tool,
    ToolInput,
    ToolOutput,
)
from contextive.registry.dispatch import CallRecord, Dispatcher, Limits, ToolResult
from contextive.registry.paging import Page
from contextive.registry.registry import PackRules, Registry, Surface
from contextive.registry.scopes import OWNER_AS_MAINTAINER, OWNER_AS_READER, OWNER_AS_WRITER, Caller, Scope

__all__ = [
    "OWNER_AS_MAINTAINER",
    "OWNER_AS_READER",
    "OWNER_AS_WRITER",
    "Annotations",
    "Audio",
    "CallRecord",
    "Caller",
    "Client",
    "Content",
    "Context",
    "Dispatcher",
    "Freshness",
    "Image",
    "InputNeeded",
    "Limits",
    "NoClient",
    "NoInput",
    "Pack",
    "PackRules",
    "Page",
    "Prompt",
    "PromptArgument",
    "PromptMessage",
    "Question",
    "Registry",
    "Reply",
    "Resource",
    "ResourceBody",
    "ResourceEntry",
    "ResourceLink",
    "Scope",
    "Services",
    "Surface",
    "Text",
    "Tool",
    "ToolInput",
    "ToolOutput",
    "ToolResult",
]
