"""Vectors from any endpoint that speaks the embeddings wire of OpenAI."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import httpx

from contextive.errors import UpstreamError
from contextive.search.embedding.protocol import normalise_rows
from contextive.store.values import VectorModel

if TYPE_CHECKING:
    from contextive.search.embedding.protocol import Matrix

DEFAULT_URL: Final = "https://api.openai.com/v1"
BATCH_TEXTS: Final = 64
MAX_CHARACTERS: Final = 8000
"""Longer texts are cut: endpoints refuse what is over their limit instead of cutting it themselves."""
MAX_ATTEMPTS: Final = 4
MAX_PAUSE_SECONDS: Final = 20.0
_AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})


class OpenAiEmbedder:
    """One model behind one endpoint. Its dimensions are learnt from a first call when it is opened."""

    def __init__(
        self,
        name: str,
        *,
        url: str = DEFAULT_URL,
        key: str | None = None,
        timeout_seconds: float = 30.0,
        first_pause_seconds: float = 0.5,
    ) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._name = name
        self._endpoint = f"{url.rstrip('/')}/embeddings"
        self._client = httpx.Client(headers=headers, timeout=timeout_seconds)
        self._first_pause_seconds = first_pause_seconds
        self._model = VectorModel(f"openai:{name}", 0)
        self._model = VectorModel(f"openai:{name}", self._ask(["dimensions"]).shape[1])

    @property
    def model(self) -> VectorModel:
        return self._model

    def embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        if not texts:
            return np.zeros((0, self._model.dimensions), dtype=np.float32)
        batches = [texts[at : at + BATCH_TEXTS] for at in range(0, len(texts), BATCH_TEXTS)]
        return normalise_rows(np.concatenate([self._ask(batch) for batch in batches]))

    def embed_query(self, text: str) -> Matrix:
        row: Matrix = self.embed([text])[0]
        return row

    def close(self) -> None:
        self._client.close()

    def _ask(self, texts: Sequence[str]) -> Matrix:
        # An empty input is an error on this wire, and a chunk of blanks is none.
        shown = [text[:MAX_CHARACTERS] if text.strip() else "empty" for text in texts]
        body = {"model": self._name, "input": shown, "encoding_format": "float"}
        return _read_rows(self._send(body), len(texts), self._model.dimensions)

    def _send(self, body: dict[str, Any]) -> httpx.Response:
        """The answer, after as many attempts as it takes within bounds. No text of the endpoint gets into an error."""
        pause = self._first_pause_seconds
        problem = "could not be reached"
        for attempt in range(MAX_ATTEMPTS):
            if attempt:
                time.sleep(min(pause, MAX_PAUSE_SECONDS))
                pause *= 2
            try:
                response = self._client.post(self._endpoint, json=body)
            except httpx.TimeoutException:
                problem = "did not answer in time"
                continue
            except httpx.HTTPError:
                problem = "could not be reached"
                continue
            if response.is_success:
                return response
            problem = f"answered with status {response.status_code}"
            if response.status_code not in _AGAIN:
                break
            pause = max(pause, _asked_pause(response))
        raise UpstreamError(
            f"The embedding endpoint {problem}.", hint="Check embedding_url, embedding_key and the name of the model."
        )


def _asked_pause(response: httpx.Response) -> float:
    text = response.headers.get("retry-after", "")
    return float(text) if text.isdigit() else 0.0


def _read_rows(response: httpx.Response, count: int, dimensions: int) -> Matrix:
    """The vectors of an answer in the order of the texts."""
    import numpy as np

    try:
        data = sorted(response.json()["data"], key=lambda item: item["index"])
        rows = np.asarray([item["embedding"] for item in data], dtype=np.float32)
    except (ValueError, KeyError, TypeError) as error:
        raise UpstreamError("The embedding endpoint gave an answer that is no list of vectors.") from error
    if rows.ndim != 2 or rows.shape[0] != count or not np.isfinite(rows).all():
        raise UpstreamError("The embedding endpoint gave another number of vectors than texts were sent.")
    if dimensions and rows.shape[1] != dimensions:
        raise UpstreamError("The embedding endpoint gave vectors of another length than before.")
    return rows
