"""Rules between settings, and rules that a JSON Schema cannot express.

They are not part of the model, so that the model and the JSON Schema accept the same documents.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Iterator
from typing import Final

from contextive.config.cron import Cron, CronError
from contextive.config.keypath import KeyPath
from contextive.config.schema import Config

_PLACEHOLDER: Final = re.compile(
    r"(change|replace)[-_]?(me|this|it)|your[-_]|placeholder|example|password|letmein|insecure", re.IGNORECASE
)
_EMBEDDING_MODEL: Final = re.compile(r"minilm|dummy|none|(?:openai|sentence-transformers|fastembed):.+", re.DOTALL)


##= docs/spec/host.md#tokens
##% A token that is short, easy to guess, or used for both scopes MUST be refused at startup.
def check_consistency(config: Config) -> Iterator[tuple[KeyPath, str]]:
    """The settings that break a rule, each with the reason."""
    auth = config.auth
    for key, token in (("readerToken", auth.reader_token), ("adminToken", auth.admin_token)):
        if token is not None and _is_guessable(token):
            yield ("auth", key), "found (hidden), which is easy to guess; use a random value"
    if auth.reader_token and auth.admin_token and hmac.compare_digest(auth.reader_token, auth.admin_token):
        yield ("auth", "adminToken"), "must differ from auth.readerToken"
    names: set[str] = set()
    digests: set[str] = set()
    for index, issued in enumerate(auth.tokens):
        if issued.name in names:
            yield ("auth", "tokens", index, "name"), "another token has this name"
        if issued.sha256 in digests:
            yield ("auth", "tokens", index, "sha256"), "another token has this hash"
        names.add(issued.name)
        digests.add(issued.sha256)
    yield from _check_proxies(config)
    yield from _check_schedule(config)
    ##= docs/spec/host.md#validation
    ##% An unknown embedding model MUST be refused at startup.
    if not _EMBEDDING_MODEL.fullmatch(config.knowledge.embedding_model):
        allowed = "minilm, dummy, none, openai:NAME, sentence-transformers:NAME or fastembed:NAME"
        yield ("knowledge", "embeddingModel"), f"found (hidden), allowed: {allowed}"


##= docs/spec/host.md#client-addresses
##% A trusted proxy MUST be an address or a network that does not cover all addresses.
def _check_proxies(config: Config) -> Iterator[tuple[KeyPath, str]]:
    for index, name in enumerate(config.server.trusted_proxies):
        path = ("server", "trustedProxies", index)
        try:
            network = ipaddress.ip_network(name)
        except ValueError:
            yield path, "found (hidden), allowed: an address such as 10.0.0.1, or a network such as 10.0.0.0/8"
        else:
            if network.prefixlen == 0:
                yield path, "this would trust every caller; list only the addresses of your proxies"


def _check_schedule(config: Config) -> Iterator[tuple[KeyPath, str]]:
    schedule = config.knowledge.schedule
    for job, text in (("ingest", schedule.ingest.cron), ("backup", schedule.backup.cron)):
        if text is not None:
            try:
                Cron.parse(text)
            except CronError as problem:
                yield ("knowledge", "schedule", job, "cron"), f"found (hidden), {problem}"


def _is_guessable(token: str) -> bool:
    """Whether the token starts like a placeholder from a sample file, or has at most two different characters."""
    return _PLACEHOLDER.match(token) is not None or len(set(token)) < 3
