"""The context of a call, which handlers receive: caller, services and client."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, TypeVar

from contextive.errors import CapabilityMissing, Unavailable
from contextive.registry.scopes import Caller

T = TypeVar("T")

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


@dataclass(frozen=True, slots=True)
class Question:
    """A request to the client: ask its user, use its model, or list its roots."""

    method: Literal["elicitation/create", "sampling/createMessage", "roots/list"]
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def capability(self) -> str:
        """The client capability that this request needs."""
        return {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}[
            self.method
        ]


class InputNeeded(Exception):
    """The call needs answers to `questions`. The client repeats the call with the answers."""

    def __init__(self, questions: Mapping[str, Question], state: str | None = None) -> None:
        super().__init__("the client must answer first")
        self.questions = questions
        self.state = state


class Client(Protocol):
    """The connected client, which a handler can talk to during a call."""

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress. Does nothing if the client did not ask for it."""
        ...

    async def log(self, level: LogLevel, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client, if the protocol supports it."""
        ...

    def offers(self, capability: str) -> bool:
        """Whether the client declared a capability such as `sampling` or `elicitation`."""
        ...

    async def ask(self, questions: Mapping[str, Question], *, state: str | None = None) -> Mapping[str, dict[str, Any]]:
        """Answers by key. Raises `InputNeeded` if the protocol does not allow requests during a call."""
        ...

    @property
    def name(self) -> str | None:
        """The name with which the client introduced itself, printable and short; for logs and the audit."""
        ...

    @property
    def answers(self) -> Mapping[str, dict[str, Any]]:
        """The answers that the client sent when it repeated the call."""
        ...

    @property
    def state(self) -> str | None:
        """The verified state that the client returned from the previous attempt of this call."""
        ...


class NoClient:
    """A client that cannot be reached during a call (CLI, REST)."""

    name: str | None = None
    answers: Mapping[str, dict[str, Any]] = {}
    state: str | None = None

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        return None

    async def log(self, level: LogLevel, data: Any, logger: str | None = None) -> None:
        return None

    def offers(self, capability: str) -> bool:
        return False

    async def ask(self, questions: Mapping[str, Question], *, state: str | None = None) -> Mapping[str, dict[str, Any]]:
        raise CapabilityMissing(tuple(sorted({question.capability for question in questions.values()})))


class Services:
    """The services of the server, found by type."""

    def __init__(self, *services: object) -> None:
        self._services: dict[str, object] = {}
        self._building = threading.RLock()
        self._factories: dict[str, Callable[[], object]] = {}
        for service in services:
            self.add(service)

    def add(self, service: object, as_type: type | None = None) -> None:
        self._services[_name_of(as_type or type(service))] = service

    def provide(self, kind: type | str, factory: Callable[[], object]) -> None:
        """Register a factory that builds the service on first use. Replaces an existing service.

        A type that is slow to import can be named as `package.module:Class`.
        """
        name = kind if isinstance(kind, str) else _name_of(kind)
        self._factories[name] = factory
        self._services.pop(name, None)

    def get(self, kind: type[T]) -> T:
        name = _name_of(kind)
        service = self._services.get(name)
        if service is None and name in self._factories:
            with self._building:
                service = self._services.get(name)
                if service is None:
                    service = self._services[name] = self._factories[name]()
        if service is None:
            raise Unavailable(f"{kind.__name__} is not available on this server.")
        assert isinstance(service, kind)
        return service


def _name_of(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


@dataclass(frozen=True, slots=True)
class Freshness:
    """How current an answer is. Every transport adds it to every answer."""

    time: datetime
    generation: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {"time": self.time.isoformat(timespec="milliseconds"), "generation": self.generation, **self.details}

    @staticmethod
    def now(generation: int = 0) -> Freshness:
        return Freshness(datetime.now(UTC), generation)


@dataclass(frozen=True, slots=True)
class Context:
    """The context of one call."""

    caller: Caller
    services: Services
    request_id: str
    door: str
    """The transport of the call, such as `mcp-stdio`, `rest` or `cli`. The log has the same field."""
    profile: str = "contextive"
    client: Client = field(default_factory=NoClient)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def service(self, kind: type[T]) -> T:
        return self.services.get(kind)
