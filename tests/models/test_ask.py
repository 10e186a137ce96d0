"""Answers with sources: retrieval, context size, citations, and that secrets are not sent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.errors import Unavailable, UpstreamError
from contextive.models.answer_citations import keep_known_citations
from contextive.models.ask import NOTHING_FOUND, AskService
from contextive.models.catalog import ModelCatalog
from contextive.models.provider_setup import ProviderSettings, connect_providers
from contextive.models.request import ModelInfo
from contextive.models.router import ModelRouter, TaskRoute
from contextive.models.sources import WITHHELD, Source, pack_sources, write_context

from .service import KEY, Service, completion, refusal

TIDES = Source("tides", "Tides", "notes/tides.md", 3, 5, "The moon pulls.\nThe sea follows.\nTwice a day.")
SALT = Source("salt", "Salt", "notes/salt.md", 1, 1, "Rivers carry salt.")
TOKEN = "ghp_" + "a" * 36


@dataclass
class FakeRetriever:
    """A retriever that returns fixed sources."""

    sources: Sequence[Source]
    questions: list[str] = field(default_factory=list)

    async def retrieve(self, question: str, limit: int) -> Sequence[Source]:
        self.questions.append(question)
        return self.sources[:limit]


def router_to(service: Service, model: ModelInfo | None = None, backup: str | None = None) -> ModelRouter:
    entry = ProviderSettings(base_url=f"{service.url}/v1", api_key=KEY, timeout_seconds=5)
    info = model or ModelInfo("small", "here")
    catalog = ModelCatalog([info])
    return ModelRouter(connect_providers({"here": entry}).providers, catalog, {"ask": TaskRoute(info.name, backup)})


def asking(service: Service, *sources: Source, model: ModelInfo | None = None) -> AskService:
    return AskService(router_to(service, model), FakeRetriever(sources))


##= docs/spec/notes.md#ask
##% Each source MUST have its number, title, path and lines, and also the slug if it is a note.
def test_an_answer_cites_numbered_sources_with_their_location(service: Service) -> None:
    service.text = "The moon pulls the sea [1]."
    answer = asyncio.run(asking(service, TIDES, SALT).answer("Why tides?"))
    assert answer.as_dict() == {
        "answer": "The moon pulls the sea [1].",
        "sources": [{"number": 1, "slug": "tides", "title": "Tides", "path": "notes/tides.md", "lines": [3, 5]}],
        "model": "here/small",
    }
    (prompt,) = service.prompts
    assert "### [1] Tides (notes/tides.md, lines 3 to 5)\nThe moon pulls." in prompt
    assert "### [2] Salt" in prompt
    assert prompt.endswith("Question: Why tides?")


##= docs/spec/notes.md#ask
##% An answer MUST NOT cite sources that the model was not given.
def test_a_citation_of_an_unknown_source_is_removed(service: Service) -> None:
    service.text = "True [2]. Invented [7]. Both [1, 9]. See [[ghost|a ghost]] and [[salt]]."
    answer = asyncio.run(asking(service, TIDES, SALT).answer("q"))
    assert answer.answer == "True [2]. Invented. Both [1]. See a ghost and [[salt]]."
    assert [number for number, _ in answer.sources] == [1, 2]


##= docs/spec/notes.md#ask
##% An answer MUST list only the sources that were used, and none if the model says that they do not contain the answer.
@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("It is the moon that pulls.", ["tides"]),
        ("I think so.", []),
        ("See [[salt]].", ["salt"]),
        ("The sources do not hold the answer.", []),
        ("The provided sources don't mention this [1][2].", []),
        ("No relevant information found in the knowledge base.", []),
        ("Notes do not pull, the moon does [1].", ["tides"]),
    ],
)
def test_only_sources_that_an_answer_used_are_listed(service: Service, text: str, used: list[str]) -> None:
    service.text = text
    answer = asyncio.run(asking(service, TIDES, SALT).answer("q"))
    assert [source.slug for _, source in answer.sources] == used


def test_sources_found_by_the_words_of_an_answer_have_a_warning(service: Service) -> None:
    service.text = "It is the moon that pulls."
    answer = asyncio.run(asking(service, TIDES, SALT).answer("q"))
    assert answer.warnings == ("The answer cites no sources; those that contain most of its words are listed.",)


##= docs/spec/notes.md#ask
##% If nothing relevant is found, the answer MUST be `No relevant information found in the knowledge base.`, and no
##% model is called.
def test_without_relevant_sources_no_model_is_called(service: Service) -> None:
    answer = asyncio.run(asking(service).answer("q"))
    assert answer.as_dict() == {"answer": "No relevant information found in the knowledge base.", "sources": []}
    assert service.seen == []


def test_without_a_provider_nothing_is_retrieved() -> None:
    shelf = FakeRetriever([TIDES])
    with pytest.raises(Unavailable) as caught:
        asyncio.run(AskService(ModelRouter(), shelf).answer("q"))
    assert caught.value.message == "AI search is not available"
    assert "providers in the configuration" in (caught.value.hint or "")
    assert caught.value.http_status == 503
    assert shelf.questions == []


##= docs/spec/notes.md#ask
##% A model failure MUST be reported as `upstream_error`, with what to check and without any text from the model.
def test_a_failing_provider_is_named_without_its_text(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    service.script = [refusal(401, f"bad key {KEY}")]
    with caplog.at_level(logging.WARNING), pytest.raises(UpstreamError) as caught:
        asyncio.run(asking(service, TIDES).answer("q"))
    assert caught.value.full_message() == (
        "The model provider here answered with status 401. Check providers.here.apiKey."
    )
    assert "status 401" in caplog.text
    assert KEY not in caplog.text


##= docs/spec/notes.md#data-sent-to-models
##% A line that contains a secret in a known format MUST NOT be sent to a model.
def test_lines_with_a_secret_are_not_sent(service: Service) -> None:
    leaky = Source("leaky", "Deploy", "notes/deploy.md", 1, 3, f"Use the token\n{TOKEN}\nwith care.")
    asyncio.run(asking(service, leaky, TIDES).answer(f"what does {TOKEN} do?\nand why"))
    (prompt,) = service.prompts
    assert TOKEN not in prompt
    assert f"Use the token\n{WITHHELD}\nwith care." in prompt
    assert prompt.endswith(f"Question: {WITHHELD}\nand why")


def test_a_source_with_a_secret_over_several_lines_is_not_sent(service: Service) -> None:
    begin, end = "-----BEGIN RSA PRIVATE" + " KEY-----", "-----END RSA PRIVATE" + " KEY-----"
    key = Source("key", "Key", "notes/key.md", 1, 3, f"{begin}\nMIIEow{'A' * 40}\n{end}")
    answer = asyncio.run(asking(service, key).answer("q"))
    assert answer.answer == NOTHING_FOUND
    assert service.seen == []


def test_sources_are_cut_to_the_models_window(service: Service) -> None:
    long = Source("long", "Long", "notes/long.md", 1, 4000, "\n".join(f"line {n} of many" for n in range(4000)))
    tight = ModelInfo("small", "here", context_window=2_500)
    asyncio.run(asking(service, long, TIDES, model=tight).answer("q"))
    (seen,) = service.seen
    sent = sum(len(message["content"]) for message in seen.body["messages"])
    assert sent / 3 + seen.body["max_tokens"] <= 2_500
    assert "### [2] Tides" in seen.body["messages"][-1]["content"]


def test_a_model_with_too_small_a_window_is_not_available(service: Service) -> None:
    tiny = ModelInfo("small", "here", context_window=1_300)
    with pytest.raises(Unavailable, match="AI search is not available") as caught:
        asyncio.run(asking(service, TIDES, model=tiny).answer("q"))
    assert "here/small" in (caught.value.hint or "")
    assert service.seen == []


def test_the_answer_of_a_backup_has_a_warning(service: Service) -> None:
    service.script = [refusal(404), completion("Yes [1].")]
    ask = AskService(router_to(service, backup="spare"), FakeRetriever([TIDES]))
    assert asyncio.run(ask.answer("q")).as_dict()["warnings"] == [
        "The model here/small failed (upstream_error); here/spare answered instead."
    ]


def test_a_cut_off_answer_has_a_warning(service: Service) -> None:
    service.script = [completion("Yes [1", finish="length")]
    answer = asyncio.run(asking(service, TIDES).answer("q"))
    assert "The answer was cut off at the token limit." in answer.warnings


def test_the_clients_model_can_write_the_answer() -> None:
    prompts: list[str] = []

    class Client:
        async def sample(self, system: str, prompt: str, max_output_tokens: int) -> tuple[str, str]:
            prompts.append(prompt)
            return "By the client [1], not [5].", "client-model"

    answer = asyncio.run(AskService(ModelRouter(), FakeRetriever([TIDES])).answer("q", sampler=Client()))
    assert answer.answer == "By the client [1], not."
    assert answer.model == "client-model"
    assert "### [1] Tides" in prompts[0]


PIECES = st.lists(st.text(alphabet="ab\n ", max_size=600), max_size=6)


@given(PIECES, st.integers(0, 1500))
def test_packed_sources_never_exceed_the_budget_and_keep_their_order(texts: list[str], budget: int) -> None:
    sources = [Source(f"s{n}", f"T{n}", f"notes/{n}.md", 1, 1 + text.count("\n"), text) for n, text in enumerate(texts)]
    packed = pack_sources(sources, budget)
    assert len(write_context(packed)) <= max(0, budget)
    assert [source.slug for source in packed] == [source.slug for source in sources[: len(packed)]]
    for whole, piece in zip(sources, packed, strict=False):
        assert whole.text.startswith(piece.text)
        assert piece.first_line <= piece.last_line <= whole.last_line


WORDS = st.lists(
    st.sampled_from(
        ["word", " ", "[1]", "[2, 3]", "[1-4]", "[12]", "[[a]]", "[[b|c]]", "[x](http://e)", "![i](http://e)", "\n",
         "[", "]", "`[9]`", "```\n[9]\n```", "\u30104\u2020s\u3011", "[3](http://e)"]
    ),
    max_size=12,
)  # fmt: skip


@given(WORDS, st.integers(0, 4))
def test_after_cleaning_every_citation_is_valid(parts: list[str], count: int) -> None:
    once = keep_known_citations("".join(parts), count, {"a"})
    assert all(1 <= number <= count for number in once.numbers)
    again = keep_known_citations(once.text, count, {"a"})
    assert (again.text, again.numbers) == (once.text, once.numbers)
    assert "http" not in once.text.replace("`", "")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a [1] b [4] c", "a [1] b c"),
        ("a [1, 2]", "a [1][2]"),
        ("[[12][1](http://e)]", "1"),
        ("a [1-3]", "a [1][2]"),
        ("a \u30102\u2020source\u3011", "a [2]"),
        ("[page](https://evil.example/?q=1)", "page"),
        ("![x](https://evil.example/?q=1)", "x"),
        ("[1](https://evil.example)", "[1]"),
        ("`x[9]` and ```\ny[8]\n```", "`x[9]` and ```\ny[8]\n```"),
    ],
)
def test_citations_are_normalised(text: str, clean: str) -> None:
    assert keep_known_citations(text, 2, ()).text == clean
