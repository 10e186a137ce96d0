"""HTTP requests to providers, with time limit and retries. Keys are never logged."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from contextive.errors import TimedOut, UpstreamError
from contextive.retry import Failure, Retries, with_retries_async

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

MAX_BYTES = 8 * 1024 * 1024
_MAX_ATTEMPTS = 4
_FIRST_PAUSE_SECONDS = 0.5
_MAX_DETAIL_LENGTH = 300
_RETRY_STATUSES = frozenset({408, 429, 500, 502, 503, 504, 529})


class ProviderRefusal(UpstreamError):
    """The provider answered with an error status. `parameter` is the request field that it refused, if known."""

    def __init__(self, message: str, *, status: int, parameter: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.parameter = parameter


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address and headers of a provider, and the time limit."""

    provider: str
    base_url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_seconds: float = 60.0
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep, repr=False, compare=False)


##= docs/spec/models-and-recipes.md#provider-requests
##% A request, including all its attempts, MUST end within `timeoutSeconds`.
async def request_json(
    endpoint: Endpoint, method: str, path: str, body: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The JSON object that the provider returns.

    Rate limits, server errors and lost connections are retried after a pause, within the time limit. Redirects are not followed,
    because they could send the key elsewhere.
    """
    deadline = time.monotonic() + endpoint.timeout_seconds
    try:
        async with asyncio.timeout(endpoint.timeout_seconds):
            return await _with_retries(endpoint, method, path, body, deadline)
    except TimeoutError:
        raise TimedOut(
            f"The model provider {endpoint.provider} did not answer within {endpoint.timeout_seconds:g} seconds.",
            hint=f"Try again, or raise providers.{endpoint.provider}.timeoutSeconds.",
        ) from None


##= docs/spec/models-and-recipes.md#provider-requests
##% A request SHOULD be retried after a temporary error, with at most four attempts.
async def _with_retries(
    endpoint: Endpoint, method: str, path: str, body: Mapping[str, Any] | None, deadline: float
) -> dict[str, Any]:
    import httpx

    # Do not use the environment: a proxy or a .netrc entry could read or replace the key.
    async with httpx.AsyncClient(
        timeout=httpx.Timeout(endpoint.timeout_seconds), follow_redirects=False, trust_env=False
    ) as client:
        return await with_retries_async(
            lambda: _attempt(client, endpoint, method, path, body),
            Retries(_MAX_ATTEMPTS, _FIRST_PAUSE_SECONDS, deadline=deadline),
            endpoint.sleep,
        )


##= docs/spec/models-and-recipes.md#provider-requests
##% A key MUST be sent only to the address of its provider, and redirects are not followed.
async def _attempt(
    client: httpx.AsyncClient, endpoint: Endpoint, method: str, path: str, body: Mapping[str, Any] | None
) -> dict[str, Any] | Failure:
    import httpx

    url = endpoint.base_url.rstrip("/") + path
    try:
        async with client.stream(method, url, json=body, headers=dict(endpoint.headers)) as response:
            data = await _read(response)
            status, retry_after = response.status_code, response.headers.get("retry-after")
    except httpx.TimeoutException:
        raise TimeoutError from None
    except (httpx.HTTPError, httpx.InvalidURL) as failure:
        # Only the class: the message can contain the URL.
        logger.warning("provider %s: %s", endpoint.provider, type(failure).__name__)
        error = UpstreamError(
            f"The model provider {endpoint.provider} cannot be reached.",
            hint=f"Check providers.{endpoint.provider}.baseUrl, and that the service is running.",
        )
        return Failure(error, retryable=isinstance(failure, httpx.TransportError))
    if data is None:
        return Failure(UpstreamError(f"The answer of the model provider {endpoint.provider} is too large."))
    parsed = _json_object(data)
    if status == 200:
        if parsed is not None:
            return parsed
        return Failure(unreadable_response(endpoint.provider))
    return Failure(
        _refusal(endpoint, status, parsed),
        retryable=status in _RETRY_STATUSES,
        retry_after_seconds=_seconds(retry_after),
    )


async def _read(response: httpx.Response) -> bytes | None:
    """The decompressed body, or None if it is over the limit."""
    data = bytearray()
    async for piece in response.aiter_bytes(65536):
        data += piece
        if len(data) > MAX_BYTES:
            return None
    return bytes(data)


def _json_object(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def unreadable_response(provider: str) -> UpstreamError:
    """The error for a response that does not match the API of the provider."""
    return UpstreamError(f"The model provider {provider} sent an answer that cannot be read.")


def _refusal(endpoint: Endpoint, status: int, body: dict[str, Any] | None) -> ProviderRefusal:
    error_body = (body or {}).get("error")
    detail = error_body.get("message") if isinstance(error_body, dict) else error_body
    parameter = error_body.get("param") if isinstance(error_body, dict) else None
    logger.warning(
        "provider %s answered with status %d: %s", endpoint.provider, status, _without_keys(endpoint, str(detail or ""))
    )
    match status:
        case 401 | 403:
            hint: str | None = f"Check providers.{endpoint.provider}.apiKey."
        case 404:
            hint = f"Check the model's name and providers.{endpoint.provider}.baseUrl."
        case 429:
            hint = "Try again later."
        case _:
            hint = None
    return ProviderRefusal(
        f"The model provider {endpoint.provider} answered with status {status}.",
        status=status,
        parameter=parameter if isinstance(parameter, str) else _named_parameter(str(detail or "")),
        hint=hint,
    )


def _named_parameter(detail: str) -> str | None:
    """The refused parameter, for services that name it only in the message."""
    return next((name for name in ("temperature", "max_completion_tokens", "max_tokens") if name in detail), None)


##= docs/spec/models-and-recipes.md#provider-requests
##% A key MUST NOT appear in an error or in a log.
def _without_keys(endpoint: Endpoint, text: str) -> str:
    """A provider's message, shortened, on one line, and without the key, which some providers repeat."""
    for value in endpoint.headers.values():
        for secret in (value, value.removeprefix("Bearer ")):
            if secret:
                text = text.replace(secret, "[hidden]")
    return "".join(c if c.isprintable() else " " for c in text[:_MAX_DETAIL_LENGTH])


def _seconds(retry_after: str | None) -> float | None:
    """Seconds in the header Retry-After, which is a number or a date."""
    if retry_after is None:
        return None
    if retry_after.strip().isascii() and retry_after.strip().isdigit():
        return float(retry_after)
    try:
        at = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())
