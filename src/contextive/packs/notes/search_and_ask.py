"""`search` and `ask`, with the protocols that other searches and models can implement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from contextive.errors import Unavailable, UpstreamError
from contextive.ingest.notes_privacy import may_send_to_model
from contextive.ingest.notes_service import NotesService
from contextive.notes.note import Note
from contextive.notes.search import MAX_RESULTS, NoteHit, relevant_notes
from contextive.registry import Client, Context, Question
from contextive.registry.threads import run_in_thread

if TYPE_CHECKING:  # the model code is loaded with the first question
    from contextive.models.ask import Answer, Sampler, Source


@dataclass(frozen=True, slots=True)
class AskRules:
    """Whether the model of the connected client may write answers."""

    client_model: bool = False


NOT_AVAILABLE = "AI search is not available"
_QUESTION_KEY = "answer"
_MAX_RANKED = 200


@runtime_checkable
class NoteSearch(Protocol):
    """Finds notes for a query. Without one, `search` uses keywords."""

    def search(self, query: str, limit: int) -> Sequence[NoteHit]:
        """The best notes first."""
        ...


@runtime_checkable
class Answerer(Protocol):
    """Answers questions from the project. Implemented by `contextive.models.ask.AskService`."""

    def available(self, sampler: Sampler | None = None) -> bool:
        """Whether there is a model to call."""
        ...

    async def answer(self, question: str, *, sampler: Sampler | None = None) -> Answer:
        """The answer with its sources."""
        ...


def search(ctx: Context, query: str) -> Sequence[NoteHit]:
    """Notes found by the provided search, or else by keywords, newest first."""
    provided = _provided(ctx, NoteSearch)
    if isinstance(provided, NoteSearch):
        return provided.search(query, MAX_RESULTS)
    return ctx.service(NotesService).view().catalog.index.search(query)


##= docs/spec/notes.md#ask
##% Without a model, `ask` MUST be refused with `AI search is not available`.
##= docs/spec/notes.md#data-sent-to-models
##% The model of the connected client MUST NOT write answers unless `notes.askClientModel` is true.
async def ask(ctx: Context, question: str) -> Answer:
    """The answer of the provided answerer. Raises `Unavailable` without an answerer or a model."""
    answerer = _provided(ctx, Answerer)
    rules = _provided(ctx, AskRules)
    use_client = isinstance(rules, AskRules) and rules.client_model and ctx.client.offers("sampling")
    sampler = ClientSampler(ctx.client) if use_client else None
    if not isinstance(answerer, Answerer) or not answerer.available(sampler):
        raise Unavailable(NOT_AVAILABLE)
    return await answerer.answer(question, sampler=sampler)


@dataclass(frozen=True, slots=True)
class NotesRetriever:
    """Finds sources in the notes by the keywords of a question. Files that the project ignores are left out."""

    service: NotesService

    async def retrieve(self, question: str, limit: int) -> Sequence[Source]:
        return await run_in_thread(lambda: self.find(question, limit))

    def find(self, question: str, limit: int) -> list[Source]:
        """The notes with the most keywords, best first."""
        ranked = relevant_notes(self.service.view().catalog.newest_first, question, _MAX_RANKED)
        allowed = (note for note in ranked if may_send_to_model(self.service.root, note.path))
        return [note_source(note) for note in islice(allowed, limit)]


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


def note_source(note: Note) -> Source:
    """A whole note as a source."""
    from contextive.models.sources import Source

    first = note.head.count("\n") + 1
    return Source(note.slug, note.title, note.path, first, first + note.content.rstrip("\n").count("\n"), note.content)


def _provided(ctx: Context, kind: type[Any]) -> object | None:
    try:
        found: object = ctx.service(kind)
    except Unavailable:
        return None
    return found
