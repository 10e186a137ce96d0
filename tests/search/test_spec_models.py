"""Requirements on embedding models that no other test covers alone."""

from __future__ import annotations

import socket

import pytest

from contextive.config import Config
from contextive.search.embedding.factory import open_embedder


##= docs/spec/knowledge.md#ranking
##% The default embedding model MUST need neither network nor key.
def test_the_default_model_uses_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the default model uses the network")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert Config().knowledge.embedding_key is None
    embedder = open_embedder(Config().knowledge.embedding_model)
    assert embedder.embed_query("the level of the water").shape == (384,)
