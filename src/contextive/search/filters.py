"""Validates the filters of a request and converts them to a filter of the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, cast

from contextive.errors import InvalidRequest
from contextive.knowledge.artifact import ARTIFACT_TYPES, ArtifactType
from contextive.knowledge.symbol import SYMBOL_KINDS, SymbolKind
from contextive.store.values import ChunkFilter

SYMBOL_LANGUAGES: Final = ("python", "typescript", "tsx", "javascript", "go", "rust", "java", "c", "cpp")
MAX_VALUES: Final = 100
SECONDS_A_DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class ParsedFilters:
    """The filter for the store, and the filters as the response repeats them."""

    where: ChunkFilter = field(default_factory=ChunkFilter)
    applied: Mapping[str, Any] = field(default_factory=dict)


##= docs/spec/knowledge.md#km-search-requests
##% An invalid filter MUST be refused with `invalid_request`.
def parse_filters(
    raw: Mapping[str, Any] | None,
    *,
    now: float,
    symbol: str | Sequence[str] | None = None,
    kind: str | Sequence[str] | None = None,
    lang: str | Sequence[str] | None = None,
) -> ParsedFilters:
    """Parse the filters of a request. The shortcuts `symbol`, `kind` and `lang` are appended to the filters.

    Unknown keys and null values are ignored. Any other mistake raises InvalidRequest.
    """
    if raw is not None and not isinstance(raw, Mapping):
        raise InvalidRequest("filters must be an object.")
    raw = raw or {}
    texts = {name: _texts(raw, name) for name in ("subsystems", "namespaces", "tags", "symbols")}
    texts["symbols"] = _distinct([*texts["symbols"], *_shortcut("symbol", symbol)])
    types = _one_of("artifact_types", _texts(raw, "artifact_types"), ARTIFACT_TYPES)
    kinds = _one_of("symbol_kinds", [*_texts(raw, "symbol_kinds"), *_shortcut("kind", kind)], SYMBOL_KINDS)
    languages = _one_of(
        "symbol_languages", [*_texts(raw, "symbol_languages"), *_shortcut("lang", lang)], SYMBOL_LANGUAGES
    )
    updated_after = _timestamp(raw.get("updated_after"))
    max_age_days = _days(raw.get("max_age_days"))
    cutoffs = [updated_after] if updated_after is not None else []
    if max_age_days is not None:
        cutoffs.append(now - max_age_days * SECONDS_A_DAY)
    applied: dict[str, Any] = {
        **texts,
        "artifact_types": list(types),
        "symbol_kinds": list(kinds),
        "symbol_languages": list(languages),
        "updated_after": datetime.fromtimestamp(updated_after, UTC).isoformat() if updated_after is not None else None,
        "max_age_days": max_age_days,
    }
    where = ChunkFilter(
        subsystems=tuple(texts["subsystems"]),
        artifact_types=cast("tuple[ArtifactType, ...]", types),
        namespaces=tuple(texts["namespaces"]),
        tags=tuple(texts["tags"]),
        symbols=tuple(texts["symbols"]),
        symbol_kinds=cast("tuple[SymbolKind, ...]", kinds),
        symbol_languages=languages,
        updated_after=max(cutoffs, default=None),
    )
    return ParsedFilters(where, {name: value for name, value in applied.items() if value not in (None, [])})


def _texts(raw: Mapping[str, Any], name: str) -> list[str]:
    value = raw.get(name)
    if value is None:
        return []
    if not isinstance(value, (list, tuple)) or not all(isinstance(one, str) for one in value):
        raise InvalidRequest(f"filters.{name} must be an array of strings.")
    if len(value) > MAX_VALUES:
        raise InvalidRequest(f"filters.{name} can have at most {MAX_VALUES} values.")
    return _distinct(one.strip() for one in value)


##= docs/spec/knowledge.md#km-search-requests
##% The arguments `symbol`, `kind` and `lang` MUST add to the filters, as one value, several values separated by
##% commas, or a list.
def _shortcut(name: str, value: str | Sequence[str] | None) -> list[str]:
    """The values of a shortcut: a string, several separated by commas, or an array of such strings."""
    if value is None:
        return []
    items = [value] if isinstance(value, str) else list(value)
    if not all(isinstance(item, str) for item in items):
        raise InvalidRequest(f"{name} must be a string or an array of strings.")
    return _distinct(part.strip() for item in items for part in item.split(","))


def _distinct(values: Iterable[str]) -> list[str]:
    """Values without duplicates, ignoring case; the first spelling is kept."""
    by_lower_case: dict[str, str] = {}
    for value in values:
        if value:
            by_lower_case.setdefault(value.casefold(), value)
    return list(by_lower_case.values())


def _one_of(name: str, values: Iterable[str], allowed: Sequence[str]) -> tuple[str, ...]:
    lowered = tuple(dict.fromkeys(value.lower() for value in values))
    wrong = [value for value in lowered if value not in allowed]
    if wrong:
        raise InvalidRequest(
            f"filters.{name} has unknown values: {', '.join(repr(value[:40]) for value in wrong[:5])}.",
            hint=f"Use {', '.join(allowed)}.",
        )
    return lowered


def _timestamp(value: object) -> float | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidRequest("filters.updated_after must be a time such as 2024-01-01T00:00:00Z.")
    try:
        moment = datetime.fromisoformat(value.strip())
        # A time without a zone is UTC.
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).timestamp()
    except (ValueError, OverflowError) as error:
        raise InvalidRequest("filters.updated_after must be a time such as 2024-01-01T00:00:00Z.") from error


def _days(value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= 1_000_000:
        raise InvalidRequest("filters.max_age_days must be a whole number above 0.")
    return value
