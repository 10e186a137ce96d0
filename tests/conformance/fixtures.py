"""The tools, resources and prompts that the official conformance suite calls, as a pack."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import Field

from contextive.registry import (
    Audio,
    Context,
    Image,
    NoInput,
    Pack,
    PromptArgument,
    PromptMessage,
    Question,
    Reply,
    ResourceBody,
    Text,
    ToolInput,
)

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
WAV = base64.b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")

Announce = Callable[[str], Awaitable[None]]


def conformance_pack(announce: Announce) -> Pack:
    """Return the pack of fixtures; `announce` publishes that the tools or the prompts changed."""
    pack = Pack("conformance", title="Conformance fixtures", description="What the suite calls.")
    _plain_tools(pack, announce)
    _asking_tools(pack)
    _resources(pack)
    _prompts(pack)
    return pack


def _text(text: str) -> Reply:
    return Reply(content=[Text(text)])


def _form(message: str, properties: dict[str, Any], required: list[str]) -> Question:
    schema = {"type": "object", "properties": properties, "required": required}
    return Question("elicitation/create", {"message": message, "requestedSchema": schema})


def _sample(prompt: str, max_tokens: int) -> Question:
    message = {"role": "user", "content": {"type": "text", "text": prompt}}
    return Question("sampling/createMessage", {"messages": [message], "maxTokens": max_tokens})


NAME = _form("What is your name?", {"name": {"type": "string"}}, ["name"])
CONFIRM = _form("Please confirm", {"ok": {"type": "boolean"}}, ["ok"])
ROOTS = Question("roots/list")


def _plain_tools(pack: Pack, announce: Announce) -> None:
    def tool(name: str) -> Callable[[Callable[[NoInput, Context], Awaitable[Reply]]], Any]:
        return pack.tool(name, title=name, description=f"Fixture {name}.")

    @tool("test_simple_text")
    async def simple_text(_input: NoInput, _ctx: Context) -> Reply:
        return _text("This is a simple text response for testing.")

    @tool("test_image_content")
    async def image_content(_input: NoInput, _ctx: Context) -> Reply:
        return Reply(content=[Image(PNG, "image/png")])

    @tool("test_audio_content")
    async def audio_content(_input: NoInput, _ctx: Context) -> Reply:
        return Reply(content=[Audio(WAV, "audio/wav")])

    @tool("test_embedded_resource")
    async def embedded_resource(_input: NoInput, _ctx: Context) -> Reply:
        return Reply(
            content=[ResourceBody("test://embedded-resource", "This is an embedded resource content.", "text/plain")]
        )

    @tool("test_multiple_content_types")
    async def multiple_content_types(_input: NoInput, _ctx: Context) -> Reply:
        body = ResourceBody("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
        return Reply(content=[Text("Multiple content types test:"), Image(PNG, "image/png"), body])

    @tool("test_error_handling")
    async def error_handling(_input: NoInput, _ctx: Context) -> Reply:
        return Reply(content=[Text("This tool intentionally returns an error for testing")], is_error=True)

    @tool("test_tool_with_progress")
    async def with_progress(_input: NoInput, ctx: Context) -> Reply:
        for done in (0, 50, 100):
            await ctx.client.progress(done, 100)
            await asyncio.sleep(0.05)
        return _text("done")

    @tool("test_tool_with_logging")
    async def with_logging(_input: NoInput, ctx: Context) -> Reply:
        for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await ctx.client.log("info", message)
            await asyncio.sleep(0.05)
        return _text("logged")

    @tool("test_logging_tool")
    async def logging_tool(_input: NoInput, ctx: Context) -> Reply:
        await ctx.client.log("info", "one entry")
        return _text("logged")

    @tool("test_trigger_tool_change")
    async def trigger_tool_change(_input: NoInput, _ctx: Context) -> Reply:
        await announce("tools")
        return _text("announced")

    @tool("test_trigger_prompt_change")
    async def trigger_prompt_change(_input: NoInput, _ctx: Context) -> Reply:
        await announce("prompts")
        return _text("announced")


class SamplingInput(ToolInput):
    prompt: str


class ElicitationInput(ToolInput):
    message: str


class HeaderInput(ToolInput):
    region: str = Field("here", json_schema_extra={"x-mcp-header": "Region"})


def _asking_tools(pack: Pack) -> None:
    def asking(name: str, questions: Mapping[str, Question]) -> None:
        @pack.tool(name, title=name, description=f"Fixture {name}.")
        async def ask(_input: NoInput, ctx: Context) -> Reply:
            return _text(str(await ctx.client.ask(questions)))

    asking("test_elicitation_sep1034_defaults", {"form": _form("Defaults", SEP1034, [])})
    asking("test_elicitation_sep1330_enums", {"form": _form("Enums", SEP1330, [])})
    asking("test_missing_capability", {"sample": _sample("Hello", 10)})
    asking("test_streaming_elicitation", {"user_name": NAME})
    asking("test_input_required_result_elicitation", {"user_name": NAME})
    asking("test_input_required_result_sampling", {"capital_question": _sample("What is the capital of France?", 100)})
    asking("test_input_required_result_list_roots", {"client_roots": ROOTS})
    asking("test_input_required_result_request_state", {"confirm": CONFIRM})
    asking("test_input_required_result_tampered_state", {"confirm": CONFIRM})
    asking(
        "test_input_required_result_multiple_inputs",
        {"user_name": NAME, "greeting": _sample("Generate a greeting", 50), "client_roots": ROOTS},
    )

    @pack.tool("test_sampling", title="test_sampling", description="Fixture.")
    async def sampling(arguments: SamplingInput, ctx: Context) -> Reply:
        answers = await ctx.client.ask({"sample": _sample(arguments.prompt, 100)})
        return _text(f"LLM response: {answers['sample']}")

    @pack.tool("test_elicitation", title="test_elicitation", description="Fixture.")
    async def elicitation(arguments: ElicitationInput, ctx: Context) -> Reply:
        fields = {"username": {"type": "string"}, "email": {"type": "string"}}
        answers = await ctx.client.ask({"form": _form(arguments.message, fields, ["username", "email"])})
        return _text(f"User response: {answers['form']}")

    @pack.tool("test_input_required_result_multi_round", title="multi_round", description="Fixture.")
    async def multi_round(_input: NoInput, ctx: Context) -> Reply:
        first = await ctx.client.ask(
            {"step1": _form("Step 1: What is your name?", {"name": {"type": "string"}}, ["name"])}
        )
        color = _form("Step 2: What is your favorite color?", {"color": {"type": "string"}}, ["color"])
        second = await ctx.client.ask({"step2": color})
        return _text(f"{first['step1']['content']['name']} likes {second['step2']['content']['color']}")

    @pack.tool("test_input_required_result_capabilities", title="capabilities", description="Fixture.")
    async def capabilities(_input: NoInput, ctx: Context) -> Reply:
        questions = {"sample": _sample("Hello", 10)}
        if ctx.client.offers("elicitation"):
            questions["confirm"] = CONFIRM
        return _text(str(await ctx.client.ask(questions)))

    @pack.tool("test_x_mcp_header", title="header", description="Fixture.")
    async def x_mcp_header(arguments: HeaderInput, _ctx: Context) -> Reply:
        return _text(arguments.region)


SEP1034: dict[str, Any] = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
_VALUES = ("value1", "value2", "value3")
SEP1330: dict[str, Any] = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {"type": "string", "oneOf": [{"const": v, "title": f"Option {v}"} for v in _VALUES]},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {"type": "array", "items": {"anyOf": [{"const": v, "title": f"Choice {v}"} for v in _VALUES]}},
}


def _resources(pack: Pack) -> None:
    @pack.resource("test://static-text", name="static-text", title="Text", description="Text.", mime_type="text/plain")
    async def static_text(_variables: Mapping[str, str], _ctx: Context) -> str:
        return "This is the content of the static text resource."

    @pack.resource(
        "test://static-binary", name="static-binary", title="Binary", description="PNG.", mime_type="image/png"
    )
    async def static_binary(_variables: Mapping[str, str], _ctx: Context) -> bytes:
        return PNG

    @pack.resource(
        "test://watched-resource", name="watched", title="Watched", description="Watched.", mime_type="text/plain"
    )
    async def watched(_variables: Mapping[str, str], _ctx: Context) -> str:
        return "watched"

    @pack.resource("test://template/{id}/data", name="template", title="Template", description="By id.")
    async def template(variables: Mapping[str, str], _ctx: Context) -> dict[str, Any]:
        return {"id": variables["id"], "templateTest": True, "data": f"Data for ID: {variables['id']}"}


def _prompts(pack: Pack) -> None:
    def user(*content: Any) -> list[PromptMessage]:
        return [PromptMessage("user", item) for item in content]

    async def complete(prefix: str, _others: Mapping[str, str], _ctx: Context) -> list[str]:
        return [value for value in ("testValue1", "testValue2") if value.startswith(prefix)]

    @pack.prompt("test_simple_prompt", title="Simple", description="A simple prompt.")
    async def simple(_arguments: Mapping[str, str], _ctx: Context) -> list[PromptMessage]:
        return user(Text("This is a simple prompt for testing."))

    @pack.prompt(
        "test_prompt_with_arguments",
        title="Arguments",
        description="A prompt with arguments.",
        arguments=(
            PromptArgument("arg1", "First", required=True, complete=complete),
            PromptArgument("arg2", "Second", required=True, complete=complete),
        ),
    )
    async def with_arguments(arguments: Mapping[str, str], _ctx: Context) -> list[PromptMessage]:
        return user(Text(f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"))

    @pack.prompt(
        "test_prompt_with_embedded_resource",
        title="Embedded",
        description="A prompt with a resource.",
        arguments=(PromptArgument("resourceUri", "What to embed", required=True),),
    )
    async def with_resource(arguments: Mapping[str, str], _ctx: Context) -> list[PromptMessage]:
        body = ResourceBody(arguments["resourceUri"], "Embedded resource content for testing.", "text/plain")
        return user(body, Text("Please process the embedded resource above."))

    @pack.prompt("test_prompt_with_image", title="Image", description="A prompt with an image.")
    async def with_image(_arguments: Mapping[str, str], _ctx: Context) -> list[PromptMessage]:
        return user(Image(PNG, "image/png"), Text("Please analyze the image above."))

    @pack.prompt("test_input_required_result_prompt", title="Asking", description="A prompt that asks first.")
    async def asking(_arguments: Mapping[str, str], ctx: Context) -> list[PromptMessage]:
        form = _form("What context should the prompt use?", {"context": {"type": "string"}}, ["context"])
        answers = await ctx.client.ask({"user_context": form})
        return user(Text(str(answers["user_context"])))
