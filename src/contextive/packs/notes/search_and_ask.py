"""`search` and `ask`, with the protocols that other searches and models can implement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from contextive.errors import Unavailable, UpstreamError
from contextive.ingest.notes_service import NotesService
from contextive.packs.notes.note_index import NoteIndex
from contextive.packs.notes.page_search import PageSearch, find_pages
from contextive.registry import Client, Context, Question

if TYPE_CHECKING:  # the model code is loaded with the first question
    from contextive.models.ask import Answer, Sampler


@dataclass(frozen=True, slots=True)
class AskRules:
    """Whether the model of the connected client may write answers."""

    client_model: bool = False


NOT_AVAILABLE = "AI search is not available"
_QUESTION_KEY = "answer"


@runtime_checkable
class Answerer(Protocol):
    """Answers questions from the project. Implemented by `contextive.models.ask.AskService`."""

    def available(self, sampler: Sampler | None = None) -> bool:
        """Whether there is a model to call."""
        ...

    async def answer(self, question: str, *, sampler: Sampler | None = None) -> Answer:
        """The answer with its sources."""
        ...


def search(ctx: Context, query: str) -> PageSearch:
    """The pages for a query."""
    from contextive.search.index import Index

    notes = ctx.service(NotesService)
    return find_pages(notes, NoteIndex(lambda: ctx.service(Index), notes), query)


##= docs/spec/notes.md#ask
##% Without a model, `ask` MUST be refused with `AI search is not available` and a hint that says what to configure.
##= docs/spec/notes.md#data-sent-to-models
##% The model of the connected client MUST NOT write answers unless `notes.askClientModel` is true.
async def ask(ctx: Context, question: str) -> Answer:
    """The answer of the provided answerer. Raises `Unavailable` without an answerer or a model."""
    answerer = _provided(ctx, Answerer)
    rules = _provided(ctx, AskRules)
    use_client = isinstance(rules, AskRules) and rules.client_model and ctx.client.offers("sampling")
    sampler = ClientSampler(ctx.client) if use_client else None
    if not isinstance(answerer, Answerer):
        raise Unavailable(NOT_AVAILABLE, hint="Add a model under providers in the configuration. See docs/models.md.")
    return await answerer.answer(question, sampler=sampler)


@dataclass(frozen=True, slots=True)
class ClientSampler:
    """The model of the client that made this call."""

    client: Client

    async def sample(self, system: str, prompt: str, max_output_tokens: int) -> tuple[str, str]:
        params = {
            "systemPrompt": system,
            "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
            "maxTokens": max_output_tokens,
        }
        answers = await self.client.ask({_QUESTION_KEY: Question("sampling/createMessage", params)})
        answer = answers.get(_QUESTION_KEY, {})
        text = _text_of(answer.get("content"))
        if not text:
            raise UpstreamError("The client's model returned no text.")
        return text, str(answer.get("model") or "client")


def _text_of(content: Any) -> str:
    blocks = content if isinstance(content, list) else [content]
    return "\n".join(str(block["text"]) for block in blocks if isinstance(block, Mapping) and "text" in block).strip()


def _provided(ctx: Context, kind: type[Any]) -> object | None:
    try:
        found: object = ctx.service(kind)
    except Unavailable:
        return None
    return found
