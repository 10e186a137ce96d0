"""A plugin whose handlers do everything that a handler should not do, and a few allowed things.

The tests copy it into a separate package, so it imports only the public interface."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from contextive.registry import (
    Annotations,
    Context,
    Image,
    NoInput,
    Pack,
    PromptArgument,
    PromptMessage,
    Question,
    Reply,
    ResourceEntry,
    Scope,
    Text,
    ToolInput,
    ToolOutput,
)

SECRET = "/home/secret/vault.key?token=hunter2"
ITEM_COUNT = 25

pack = Pack("odd", title="Odd", description="Handlers that misbehave.")


class Done(ToolOutput):
    done: bool = True


class Number(ToolOutput):
    value: float


class EchoInput(ToolInput):
    text: str = Field(description="Anything")
    number: int = Field(1, ge=1, le=9)
    ratio: float = 0.5
    flag: bool = False
    words: list[str] = Field(default_factory=list)
    counts: list[int] = Field(default_factory=list)
    color: Literal["red", "green"] = "red"
    maybe: int | None = None


class EchoOutput(ToolOutput):
    text: str
    number: int
    ratio: float
    flag: bool
    words: list[str]
    counts: list[int]
    color: str
    maybe: int | None


class SecondsInput(ToolInput):
    seconds: float = 60.0
    marker: str = ""


class SizeInput(ToolInput):
    size: int


def tool(name: str, **more: Any) -> Any:
    return pack.tool(f"odd_{name}", title=name, description=f"Does {name}.", **more)


@tool("echo")
async def echo(arguments: EchoInput, _ctx: Context) -> EchoOutput:
    return EchoOutput(**arguments.model_dump())


@tool("print")
async def print_everywhere(_input: NoInput, _ctx: Context) -> Done:
    print("printed by a handler")
    print('{"jsonrpc": "2.0", "id": 1, "result": {}}')
    sys.stdout.flush()
    assert sys.__stdout__ is not None
    sys.__stdout__.write("written to the first stdout\n")
    sys.__stdout__.flush()
    os.write(1, b"written to descriptor 1\n")
    subprocess.run(["echo", "echoed by a child"], check=True)
    return Done()


@tool("read_input")
def read_input(_input: NoInput, _ctx: Context) -> Done:
    return Done(done=os.read(0, 10) == b"")


@tool("raise")
async def raises(_input: NoInput, _ctx: Context) -> Done:
    raise RuntimeError(f"cannot open {SECRET}")


@tool("raise_in_thread")
def raises_in_thread(_input: NoInput, _ctx: Context) -> Done:
    raise KeyError(SECRET)


@tool("timeout_of_its_own")
async def timeout_of_its_own(_input: NoInput, _ctx: Context) -> Done:
    raise TimeoutError(SECRET)


@tool("cancel_itself")
async def cancel_itself(_input: NoInput, _ctx: Context) -> Done:
    raise asyncio.CancelledError


@tool("exit")
async def exits(_input: NoInput, _ctx: Context) -> Done:
    sys.exit(3)


@tool("exit_in_thread")
def exits_in_thread(_input: NoInput, _ctx: Context) -> Done:
    sys.exit(3)


@tool("mismatch")
async def mismatch(_input: NoInput, _ctx: Context) -> Number:
    return {"value": SECRET, "more": 1}  # type: ignore[return-value]


@tool("not_a_number")
async def not_a_number(_input: NoInput, _ctx: Context) -> Number:
    return Number(value=float("nan"))


@tool("not_json")
async def not_json(_input: NoInput, _ctx: Context) -> Reply:
    return Reply(data={"object": object()})


@tool("not_content")
async def not_content(_input: NoInput, _ctx: Context) -> Reply:
    return Reply(content=[SECRET])  # type: ignore[list-item]


@tool("surrogate")
async def surrogate(_input: NoInput, _ctx: Context) -> Reply:
    return Reply(data={"name": "a\ud800b"})


@tool("slow")
async def slow(arguments: SecondsInput, _ctx: Context) -> Done:
    try:
        if arguments.marker:
            Path(arguments.marker).write_text("started", encoding="utf-8")
        await asyncio.sleep(arguments.seconds)
    except asyncio.CancelledError:
        if arguments.marker:
            Path(arguments.marker).write_text("cancelled", encoding="utf-8")
        raise
    return Done()


@tool("block")
def block(arguments: SecondsInput, _ctx: Context) -> Done:
    if arguments.marker:
        Path(arguments.marker).write_text("started", encoding="utf-8")
    time.sleep(arguments.seconds)
    return Done()


@tool("big")
async def big(arguments: SizeInput, _ctx: Context) -> Reply:
    return Reply(content=[Text("x" * arguments.size)])


@tool("big_image")
async def big_image(arguments: SizeInput, _ctx: Context) -> Reply:
    return Reply(content=[Image(b"x" * arguments.size, "image/png")])


@tool("big_data")
async def big_data(arguments: SizeInput, _ctx: Context) -> Reply:
    return Reply(data={"text": "x" * arguments.size}, content=[Text("small")])


@tool("progress")
async def progress(_input: NoInput, ctx: Context) -> Done:
    for done in (1, 2, 3):
        await ctx.client.progress(done, 3, f"step {done}")
    return Done()


@tool("log")
async def log(_input: NoInput, ctx: Context) -> Done:
    await ctx.client.log("debug", "a detail")
    await ctx.client.log("info", {"some": "news"}, logger="odd")
    await ctx.client.log("error", "a failure")
    return Done()


@tool("ask")
async def ask(_input: NoInput, ctx: Context) -> Reply:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    form = Question("elicitation/create", {"message": "Your name?", "requestedSchema": schema})
    answers = await ctx.client.ask({"who": form})
    return Reply(data={"name": answers["who"]["content"]["name"]})


@tool("write", annotations=Annotations(read_only=False))
async def write(_input: NoInput, _ctx: Context) -> Done:
    return Done()


@tool("maintain", scope=Scope.MAINTAINER)
async def maintain(_input: NoInput, _ctx: Context) -> Done:
    return Done()


@tool("destroy", scope=Scope.MAINTAINER, annotations=Annotations(read_only=False, destructive=True))
async def destroy(_input: NoInput, _ctx: Context) -> Done:
    return Done()


# -- resources ---------------------------------------------------------------------------------------------------------


def resource(path: str, **more: Any) -> Any:
    name = path.split("/")[0]
    return pack.resource(f"odd:///{path}", name=name, title=name, description=f"The {name}.", **more)


@resource("text", mime_type="text/plain")
async def text(_variables: Mapping[str, str], _ctx: Context) -> str:
    return "plain text"


@resource("bytes", mime_type="application/octet-stream")
async def binary(_variables: Mapping[str, str], _ctx: Context) -> bytes:
    return b"\x00\xff"


@resource("broken")
async def broken(_variables: Mapping[str, str], _ctx: Context) -> str:
    raise RuntimeError(f"cannot open {SECRET}")


@resource("strange")
async def strange(_variables: Mapping[str, str], _ctx: Context) -> object:
    return object()


@resource("huge", mime_type="text/plain")
async def huge(_variables: Mapping[str, str], _ctx: Context) -> str:
    return "ä" * 700_000


@resource("sealed", scope=Scope.MAINTAINER)
async def sealed(_variables: Mapping[str, str], _ctx: Context) -> str:
    return "for maintainers"


async def list_items(offset: int, limit: int, _ctx: Context) -> list[ResourceEntry]:
    numbers = range(ITEM_COUNT)[offset : offset + limit]
    return [ResourceEntry(f"odd:///items/{number}", f"item {number}") for number in numbers]


async def complete_number(prefix: str, _others: Mapping[str, str], _ctx: Context) -> list[str]:
    return [str(number) for number in range(ITEM_COUNT) if str(number).startswith(prefix)]


@resource("items/{number}", list_entries=list_items, complete={"number": complete_number})
async def item(variables: Mapping[str, str], _ctx: Context) -> dict[str, str]:
    return dict(variables)


@resource("files/{+path}")
async def file(variables: Mapping[str, str], _ctx: Context) -> dict[str, str]:
    return dict(variables)


# -- prompts -----------------------------------------------------------------------------------------------------------


async def complete_tone(prefix: str, others: Mapping[str, str], _ctx: Context) -> list[str]:
    return [tone for tone in ("kind", "keen", others.get("subject", "curt")) if tone.startswith(prefix)]


@pack.prompt(
    "odd_greeting",
    title="Greeting",
    description="Greets.",
    arguments=(PromptArgument("subject", "Whom", required=True), PromptArgument("tone", "How", complete=complete_tone)),
)
async def greeting(arguments: Mapping[str, str], _ctx: Context) -> list[PromptMessage]:
    return [PromptMessage("user", Text(f"Greet {arguments['subject']}."))]


@pack.prompt("odd_broken", title="Broken", description="Fails.")
async def broken_prompt(_arguments: Mapping[str, str], _ctx: Context) -> list[PromptMessage]:
    raise RuntimeError(SECRET)


@pack.prompt("odd_sealed", title="Sealed", description="For maintainers.", scope=Scope.MAINTAINER)
async def sealed_prompt(_arguments: Mapping[str, str], _ctx: Context) -> list[PromptMessage]:
    return [PromptMessage("user", Text("sealed"))]
