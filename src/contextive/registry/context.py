"""What a handler sees of the call it serves: the caller, the services, and the client at the other end."""

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
    """Something only the client can answer: its user, its model, or its roots."""

    method: Literal["elicitation/create", "sampling/createMessage", "roots/list"]
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def capability(self) -> str:
        """The client capability without which this question may not be asked."""
        return {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}[
            self.method
        ]


class InputNeeded(Exception):
    """The call cannot go on until the client has answered `questions`; it will be made again with the answers."""

    def __init__(self, questions: Mapping[str, Question], state: str | None = None) -> None:
        super().__init__("the client has to answer first")
        self.questions = questions
        self.state = state


class Client(Protocol):
    """The party at the other end of a door, as far as a handler may talk to it while it works."""

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the work is. Silently nothing where nobody asked to be told."""
        ...

    async def log(self, level: LogLevel, data: Any, logger: str | None = None) -> None:
        """Send a log entry to the client, where the protocol has a way for it."""
        ...

    def offers(self, capability: str) -> bool:
        """Whether the client declared a capability such as `sampling` or `elicitation`."""
        ...

    async def ask(self, questions: Mapping[str, Question], *, state: str | None = None) -> Mapping[str, dict[str, Any]]:
        """Answers by key. Where the protocol cannot ask back in the middle of a call this raises `InputNeeded`."""
        ...

    @property
    def answers(self) -> Mapping[str, dict[str, Any]]:
        """What the client already answered when it made this call again."""
        ...

    @property
    def state(self) -> str | None:
        """The state that an earlier round of this call left with the client, verified."""
        ...


class NoClient:
    """A door with nobody to talk to while the work goes on (CLI, REST)."""

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
    """The parts that the composition root built, found by their type."""

    def __init__(self, *parts: object) -> None:
        self._parts: dict[str, object] = {}
        self._building = threading.RLock()
        self._factories: dict[str, Callable[[], object]] = {}
        for part in parts:
            self.add(part)

    def add(self, part: object, as_type: type | None = None) -> None:
        self._parts[_name_of(as_type or type(part))] = part

    def provide(self, kind: type | str, factory: Callable[[], object]) -> None:
        """Have a part built when it is first asked for; replaces one that is there.

        A kind that is dear to import may be named as `package.module:Class`.
        """
        name = kind if isinstance(kind, str) else _name_of(kind)
        self._factories[name] = factory
        self._parts.pop(name, None)

    def get(self, kind: type[T]) -> T:
        name = _name_of(kind)
        part = self._parts.get(name)
        if part is None and name in self._factories:
            with self._building:
                part = self._parts.get(name)
                if part is None:
                    part = self._parts[name] = self._factories[name]()
        if part is None:
            raise Unavailable(f"{kind.__name__} is not part of this server.")
        assert isinstance(part, kind)
        return part


def _name_of(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


@dataclass(frozen=True, slots=True)
class Freshness:
    """How fresh an answer is; every door attaches it to every answer."""

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
    """Everything a handler may know about the call that it serves."""

    caller: Caller
    services: Services
    request_id: str
    door: str
    profile: str = "contextive"
    client: Client = field(default_factory=NoClient)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def service(self, kind: type[T]) -> T:
        return self.services.get(kind)
