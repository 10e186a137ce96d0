"""Embeddings from any endpoint with OpenAI's embeddings API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import httpx

from contextive.errors import UpstreamError
from contextive.retry import Failure, Retries, with_retries
from contextive.search.embedding.protocol import normalise_rows
from contextive.store.values import VectorModel

if TYPE_CHECKING:
    from contextive.search.embedding.protocol import Matrix

DEFAULT_URL: Final = "https://api.openai.com/v1"
BATCH_TEXTS: Final = 64
MAX_CHARACTERS: Final = 8000
"""Longer texts are cut, because endpoints reject texts over their limit."""
MAX_ATTEMPTS: Final = 4
MAX_PAUSE_SECONDS: Final = 20.0
_RETRY_STATUSES = frozenset({408, 409, 429, 500, 502, 503, 504, 529})


class OpenAiEmbedder:
    """One model of one endpoint. A first request when it is opened tells its dimensions."""

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
        self._model = VectorModel(f"openai:{name}", self._request(["dimensions"]).shape[1])

    @property
    def model(self) -> VectorModel:
        return self._model

    @property
    def is_fast(self) -> bool:
        return False

    def embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        if not texts:
            return np.zeros((0, self._model.dimensions), dtype=np.float32)
        batches = [texts[at : at + BATCH_TEXTS] for at in range(0, len(texts), BATCH_TEXTS)]
        return normalise_rows(np.concatenate([self._request(batch) for batch in batches]))

    def embed_query(self, text: str) -> Matrix:
        row: Matrix = self.embed([text])[0]
        return row

    def close(self) -> None:
        self._client.close()

    def _request(self, texts: Sequence[str]) -> Matrix:
        # The API rejects an empty input, but a chunk may be blank.
        inputs = [text[:MAX_CHARACTERS] if text.strip() else "empty" for text in texts]
        body = {"model": self._name, "input": inputs, "encoding_format": "float"}
        return _read_rows(self._send(body), len(texts), self._model.dimensions)

    def _send(self, body: dict[str, Any]) -> httpx.Response:
        """The response, after retries if needed. Errors contain no text from the endpoint."""
        retries = Retries(MAX_ATTEMPTS, self._first_pause_seconds, longest_pause_seconds=MAX_PAUSE_SECONDS)
        return with_retries(lambda: self._attempt(body), retries)

    def _attempt(self, body: dict[str, Any]) -> httpx.Response | Failure:
        try:
            response = self._client.post(self._endpoint, json=body)
        except httpx.TimeoutException:
            return Failure(_problem("did not answer in time"), retryable=True)
        except httpx.HTTPError:
            return Failure(_problem("could not be reached"), retryable=True)
        if response.is_success:
            return response
        text = response.headers.get("retry-after", "")
        return Failure(
            _problem(f"answered with status {response.status_code}"),
            retryable=response.status_code in _RETRY_STATUSES,
            retry_after_seconds=float(text) if text.isascii() and text.isdigit() else None,
        )


def _problem(text: str) -> UpstreamError:
    return UpstreamError(
        f"The embedding endpoint {text}.", hint="Check embedding_url, embedding_key and the name of the model."
    )


def _read_rows(response: httpx.Response, count: int, dimensions: int) -> Matrix:
    """The vectors of a response, in the order of the texts."""
    import numpy as np

    try:
        data = sorted(response.json()["data"], key=lambda item: item["index"])
        rows = np.asarray([item["embedding"] for item in data], dtype=np.float32)
    except (ValueError, KeyError, TypeError) as error:
        raise UpstreamError("The response of the embedding endpoint is not a list of vectors.") from error
    if rows.ndim != 2 or rows.shape[0] != count or not np.isfinite(rows).all():
        raise UpstreamError("The embedding endpoint did not return one vector for each text.")
    if dimensions and rows.shape[1] != dimensions:
        raise UpstreamError("The embedding endpoint returned vectors of a different length than before.")
    return rows
