"""The dispatcher: paging, time limits, cancellation, and the records that observers get."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.errors import InternalError, NotFound, TimedOut, ToolNotFound
from contextive.registry import (
    OWNER_AS_MAINTAINER,
    OWNER_AS_READER,
    CallRecord,
    Context,
    Dispatcher,
    Limits,
    NoInput,
    Pack,
    PackRules,
    Registry,
    Reply,
    ResourceEntry,
    Scope,
    Services,
)
from contextive.registry.dispatch import well_formed
from contextive.registry.threads import run_in_service_thread, run_in_thread
from tests.registry.property_tests import property_test


def context(**changes: Any) -> Context:
    return Context(**{"caller": OWNER_AS_READER, "services": Services(), "request_id": "r1", "door": "test", **changes})


def listing_pack(sizes: list[int | None]) -> Pack:
    """For each number a template with that many members; for each None a fixed resource."""
    pack = Pack("listing", title="L", description="L")

    async def read(_variables: Mapping[str, str], _ctx: Context) -> str:
        return ""

    def members(index: int, size: int) -> Any:
        async def entries(offset: int, limit: int, _ctx: Context) -> list[ResourceEntry]:
            return [ResourceEntry(f"l:///{index}/{n}", f"{index}/{n}") for n in range(size)[offset : offset + limit]]

        return entries

    for index, size in enumerate(sizes):
        fields: dict[str, Any] = {"name": str(index), "title": "T", "description": "D"}
        if size is None:
            pack.resource(f"l:///{index}", **fields)(read)
        else:
            pack.resource(f"l:///{index}/{{n}}", list_entries=members(index, size), **fields)(read)
    pack.resource("l:///unlisted/{x}", name="unlisted", title="T", description="D")(read)
    return pack


##= docs/spec/host.md#lists-and-pagination
##= type=test
##% A page of the list of resources MUST have at most 50 entries.
def test_a_page_of_resources_has_at_most_50_entries() -> None:
    registry = Registry([listing_pack([120])])
    surface = registry.surface(["listing"], Scope.READER)
    page = asyncio.run(Dispatcher(registry).list_resources(surface, None, context()))
    assert len(page.items) == 50
    assert page.next_cursor is not None


@property_test
@given(st.lists(st.none() | st.integers(0, 12), max_size=6), st.integers(1, 15))
def test_the_pages_of_resources_are_the_whole_list_for_any_page_size(sizes: list[int | None], page_size: int) -> None:
    registry = Registry([listing_pack(sizes)])
    surface = registry.surface(["listing"], Scope.READER)
    fixed = [f"l:///{index}" for index, size in enumerate(sizes) if size is None]
    members = [f"l:///{index}/{n}" for index, size in enumerate(sizes) if size is not None for n in range(size)]
    expected = fixed + members

    async def walk() -> tuple[list[str], list[int]]:
        dispatcher = Dispatcher(registry, limits=Limits(page_size=page_size))
        found: list[str] = []
        lengths: list[int] = []
        cursor = None
        while True:
            page = await dispatcher.list_resources(surface, cursor, context())
            found += [entry.uri for entry in page.items]
            lengths.append(len(page.items))
            cursor = page.next_cursor
            if cursor is None:
                return found, lengths

    found, lengths = asyncio.run(walk())
    assert found == expected
    assert all(length == page_size for length in lengths[:-1])
    assert lengths[-1] > 0 or not expected


def test_a_list_without_any_readable_resource_is_an_error() -> None:
    pack = Pack("broken", title="B", description="B")

    async def read(_variables: Mapping[str, str], _ctx: Context) -> str:
        return ""

    async def fail(_offset: int, _limit: int, _ctx: Context) -> list[ResourceEntry]:
        raise NotFound("The file is broken.", hint="Mend it.")

    for number in range(2):
        pack.resource(f"b:///{number}/{{x}}", name="b", title="T", description="D", list_entries=fail)(read)
    registry = Registry([pack])
    listing = Dispatcher(registry).list_resources(registry.surface(["broken"], Scope.READER), None, context())
    with pytest.raises(NotFound, match="broken"):
        asyncio.run(listing)


def one_tool(handler: Any, **more: Any) -> Registry:
    pack = Pack("p", title="P", description="P")
    pack.tool("t", title="T", description="D", **more)(handler)
    return Registry([pack], {"p": PackRules(settings={"key": "value"})})


def call(registry: Registry, limits: Limits | None = None, ctx: Context | None = None) -> tuple[Any, list[CallRecord]]:
    """The result or error of a call of the only tool, and the record that the observer got."""
    records: list[CallRecord] = []
    dispatcher = Dispatcher(registry, limits=limits, observers=[records.append])

    async def run() -> Any:
        surface = registry.surface(["p"], Scope.MAINTAINER)
        try:
            return await dispatcher.call(surface, "t", {}, ctx or context(caller=OWNER_AS_MAINTAINER))
        except Exception as failure:
            return failure

    return asyncio.run(run()), records


def test_a_handler_sees_the_settings_of_its_pack() -> None:
    async def handler(_given: NoInput, ctx: Context) -> Reply:
        return Reply(data=dict(ctx.settings))

    result, _ = call(one_tool(handler))
    assert result.data == {"key": "value"}


def test_a_successful_call_is_recorded_with_duration_and_caller() -> None:
    async def handler(_given: NoInput, _ctx: Context) -> Reply:
        return Reply(data={})

    _, (record,) = call(one_tool(handler))
    assert (record.tool, record.known, record.caller, record.error) == ("t", True, "owner", None)
    assert record.duration_seconds >= 0


@pytest.mark.parametrize("failure", [ValueError, SystemExit, TimeoutError, asyncio.CancelledError, StopAsyncIteration])
def test_any_exception_in_a_coroutine_is_an_internal_error(failure: type[BaseException]) -> None:
    async def handler(_given: NoInput, _ctx: Context) -> Reply:
        raise failure

    outcome, (record,) = call(one_tool(handler))
    assert isinstance(outcome, InternalError)
    assert record.error == "internal_error"


@pytest.mark.parametrize("failure", [ValueError, SystemExit, TimeoutError, StopIteration])
def test_any_exception_in_a_thread_is_an_internal_error(failure: type[BaseException]) -> None:
    def handler(_given: NoInput, _ctx: Context) -> Reply:
        raise failure

    outcome, _ = call(one_tool(handler))
    assert isinstance(outcome, InternalError)


def test_a_coroutine_that_exceeds_its_time_limit_is_cancelled() -> None:
    cancelled = []

    async def handler(_given: NoInput, _ctx: Context) -> Reply:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return Reply()

    outcome, (record,) = call(one_tool(handler), Limits(timeout_seconds=0.05))
    assert isinstance(outcome, TimedOut)
    assert record.error == "timeout"
    assert cancelled == [True]


def test_a_coroutine_that_turns_its_cancellation_into_another_error_is_still_a_timeout() -> None:
    async def handler(_given: NoInput, _ctx: Context) -> Reply:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise ValueError from None
        return Reply()

    outcome, _ = call(one_tool(handler), Limits(timeout_seconds=0.05))
    assert isinstance(outcome, TimedOut)


def test_a_thread_that_exceeds_its_time_limit_is_abandoned() -> None:
    release = threading.Event()

    def handler(_given: NoInput, _ctx: Context) -> Reply:
        release.wait(30)
        return Reply()

    started = time.monotonic()
    outcome, _ = call(one_tool(handler), Limits(timeout_seconds=0.05))
    assert isinstance(outcome, TimedOut)
    assert time.monotonic() - started < 5
    release.set()


def test_a_cancelled_call_stops_and_is_recorded() -> None:
    async def handler(_given: NoInput, _ctx: Context) -> Reply:
        await asyncio.sleep(60)
        return Reply()

    registry = one_tool(handler)
    records: list[CallRecord] = []
    dispatcher = Dispatcher(registry, observers=[records.append])

    async def run() -> None:
        surface = registry.surface(["p"], Scope.READER)
        task = asyncio.create_task(dispatcher.call(surface, "t", {}, context()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert [record.error for record in records] == ["cancelled"]


##= docs/spec/host.md#permissions
##% The scope MUST be checked in one place for all transports.
def test_a_tool_above_the_scope_is_refused_even_if_the_surface_contains_it() -> None:
    async def handler(_given: NoInput, _ctx: Context) -> Reply:
        return Reply(data={})

    outcome, _ = call(one_tool(handler, scope=Scope.MAINTAINER), ctx=context(caller=OWNER_AS_READER))
    assert isinstance(outcome, InternalError)


def test_an_unknown_tool_is_recorded_as_unknown() -> None:
    registry = Registry([Pack("p", title="P", description="P")])
    outcome, (record,) = call(registry)
    assert isinstance(outcome, ToolNotFound)
    assert (record.tool, record.known) == ("unknown", False)


@property_test
@given(st.text(alphabet=st.characters(exclude_categories=[]), max_size=50))
def test_every_text_can_be_made_encodable(text: str) -> None:
    clean = well_formed(text)
    clean.encode()
    if not any("\ud800" <= c <= "\udfff" for c in text):
        assert clean is text


def test_threads_run_concurrently_and_keep_their_context() -> None:
    barrier = threading.Barrier(20, timeout=10)

    async def run() -> list[int]:
        return await asyncio.gather(*(run_in_thread(barrier.wait) for _ in range(20)))

    assert sorted(asyncio.run(run())) == list(range(20))


def test_service_threads_do_not_wait_for_handlers() -> None:
    goes_on = threading.Event()

    async def run() -> str:
        handlers = [asyncio.create_task(run_in_thread(goes_on.wait)) for _ in range(300)]
        await asyncio.sleep(0)
        try:
            return await asyncio.wait_for(run_in_service_thread(lambda: "well"), 5)
        finally:
            goes_on.set()
            await asyncio.gather(*handlers)

    assert asyncio.run(run()) == "well"


def test_an_exception_in_a_thread_is_raised_in_the_caller() -> None:
    def fail() -> None:
        raise LookupError("here")

    with pytest.raises(LookupError, match="here"):
        asyncio.run(run_in_thread(fail))
