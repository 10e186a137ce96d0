"""`ask` finds its sources with the index: over real HTTP, with a real index and the built-in embedding model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextive.config import ConfigRequest, load_config
from contextive.ingest.notes_service import NotesService
from contextive.ingest.settings import IngestRequest
from contextive.packs import BUILTIN
from contextive.packs.notes.note_index import NoteIndex
from contextive.packs.notes.retrieval import IndexRetriever
from contextive.search.index import Index
from contextive.server.host import Host
from tests.ingest.test_notes_service import write
from tests.models.service import KEY, Service, model_service, refusal
from tests.raw_clients import HttpClient, HttpResponse, serving_http

SECRET = "ghp_" + "a1B2" * 9
FILES = {
    "notes/tides.md": "---\ntitle: Tides\n---\nThe moon pulls the sea twice a day.\n",
    "notes/tokens.md": "---\ntitle: Tokens\n---\nTokens expire daily. Rotate signing keys every month.\n",
    "notes/lunch.md": "---\ntitle: Team lunch\n---\nEvery Wednesday at noon in the canteen; vegetarians tell Ana.\n",
    "notes/private/plans.md": "Tokens of mine expire never.\n",
    "notes/keys.md": f"---\ntitle: Token keys\n---\nTokens expire when revoked.\nMine is {SECRET}.\n",
    "docs/gateway.md": "# Gateway\n\nThe gateway limits the rate of requests to forty a second.\n",
    ".gitignore": "notes/private/\n",
}
NOTHING = {"answer": "No relevant information found in the knowledge base.", "sources": []}


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with model_service() as running:
        yield running


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("asked")
    (root / ".git").mkdir()
    for path, text in FILES.items():
        write(root, path, text)
    host = open_host(root)
    index = host.services.get(Index)
    index.ingest(IngestRequest())
    index.embed()
    host.close()
    return root


def open_host(root: Path) -> Host:
    return Host(
        load_config(ConfigRequest(project=root, builtin_packs=frozenset(BUILTIN), environ={})), mode="in-process"
    )


@pytest.fixture(scope="module")
def web(project: Path, service: Service) -> Iterator[HttpClient]:
    provider = {"kind": "openai-compatible", "baseUrl": f"{service.url}/v1", "apiKey": KEY, "defaultModel": "small"}
    config = project.parent / "given.json"
    config.write_text(json.dumps({"providers": {"here": provider}}), encoding="utf-8")
    with serving_http("--config", str(config), cwd=project) as running:
        yield running.web


@pytest.fixture
def ask(web: HttpClient, service: Service) -> Any:
    service.script, service.text = [], "So it is [1]."
    service.seen.clear()
    return lambda question: web.post("/api/mcp", {"tool": "ask", "input": {"question": question}})


##= docs/spec/notes.md#ask
##% Sources MUST be found by words and by meaning, with notes first.
def test_a_question_in_different_words_finds_the_note(ask: Any, service: Service) -> None:
    answer: HttpResponse = ask("Why does the ocean rise and fall?")
    assert answer.status == 200
    assert answer.json["result"]["sources"] == [
        {"number": 1, "slug": "tides", "title": "Tides", "path": "notes/tides.md", "lines": [4, 4]}
    ]
    assert "The moon pulls the sea" in service.prompts[0]


##= docs/spec/notes.md#ask
##% If nothing relevant is found, the answer MUST be `No relevant information found in the knowledge base.`, and no
##% model is called.
@pytest.mark.parametrize(
    "question", ["Where do zebras sleep?", "Who won the 1954 world cup?", "How do I knit a sweater?"]
)
def test_unrelated_questions_are_answered_without_a_model(ask: Any, service: Service, question: str) -> None:
    assert ask(question).json == {"result": NOTHING}
    assert service.seen == []


##= docs/spec/notes.md#ask
##% Each source MUST have its number, title, path and lines, and also the slug if it is a note.
def test_other_documents_are_sources_after_the_notes_and_without_a_slug(ask: Any) -> None:
    (source,) = ask("What is the rate limit of the gateway?").json["result"]["sources"]
    assert source["path"] == "docs/gateway.md"
    assert "slug" not in source


##= docs/spec/notes.md#data-sent-to-models
##% A note that git or `.contextiveignore` ignores MUST NOT be sent to a model.
##= docs/spec/notes.md#data-sent-to-models
##% A line that contains a secret in a known format MUST NOT be sent to a model.
def test_ignored_files_and_secrets_are_not_sent(ask: Any, service: Service) -> None:
    service.text = "Daily [1][2][3][4][5]."
    answer = ask("When do tokens expire?").json["result"]
    assert {"tokens", "token-keys"} <= {source.get("slug") for source in answer["sources"]}
    prompt = service.prompts[0]
    assert "Tokens expire when revoked." in prompt
    assert "of mine" not in prompt
    assert SECRET not in prompt


##= docs/spec/notes.md#ask
##% A note saved before the question MUST be found with its current content.
def test_a_note_saved_before_the_question_is_a_source(ask: Any, project: Path, service: Service) -> None:
    write(project, "notes/otters.md", "Otters hold hands while they float.\n")
    assert ask("Do otters hold hands?").json["result"]["sources"][0]["slug"] == "otters"
    write(project, "notes/otters.md", "Otters hold paws while they float.\n")
    ask("Do otters hold paws?")
    assert "hold paws" in service.prompts[-1]
    assert "hold hands" not in service.prompts[-1]


##= docs/spec/notes.md#ask
##% A model failure MUST be reported as `upstream_error`, with what to check and without any text from the model.
def test_a_provider_that_fails_is_a_500_without_details(ask: Any, service: Service) -> None:
    service.script = [refusal(401, f"bad key {KEY}")]
    answer = ask("When do tokens expire?")
    assert (answer.status, answer.json) == (500, {"error": "Internal server error"})


##= docs/spec/notes.md#ask
##% Until an index exists, sources MUST be found by the words of the question.
def test_without_an_index_notes_are_found_by_words(tmp_path: Path) -> None:
    write(tmp_path, "notes/tides.md", FILES["notes/tides.md"])
    host = open_host(tmp_path)
    retriever = IndexRetriever(NoteIndex(lambda: host.services.get(Index), host.services.get(NotesService)))
    assert [source.slug for source in retriever._retrieve("Who pulls the moon?", 5)] == ["tides"]
    assert not (tmp_path / ".contextive").exists(), "a question does not create an index"
    host.close()
