from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from contextive.errors import InvalidRequest
from contextive.search.filters import parse_filters

NOW = datetime(2024, 6, 1, tzinfo=UTC).timestamp()


def test_without_filters_everything_passes() -> None:
    for raw in (None, {}, {"subsystems": None, "unknown": 3}):
        parsed = parse_filters(raw, now=NOW)
        assert parsed.where.is_empty
        assert parsed.applied == {}


##= docs/spec/knowledge.md#km-search-requests
##% The arguments `symbol`, `kind` and `lang` MUST add to the filters, as one value, several values separated by
##% commas, or a list.
def test_shortcuts_are_appended_to_the_filters_without_duplicates() -> None:
    parsed = parse_filters(
        {"symbols": ["a.b"], "symbol_kinds": ["class"]},
        now=NOW,
        symbol="A.B, C.d",
        kind=["function", "Class"],
        lang="Go,python",
    )
    assert parsed.where.symbols == ("a.b", "C.d")
    assert parsed.where.symbol_kinds == ("class", "function")
    assert parsed.where.symbol_languages == ("go", "python")
    assert parsed.applied["symbols"] == ["a.b", "C.d"]


def test_the_later_of_the_two_times_counts() -> None:
    early = parse_filters({"updated_after": "2024-01-01T00:00:00Z", "max_age_days": 1}, now=NOW)
    assert early.where.updated_after == NOW - 86_400
    late = parse_filters({"updated_after": "2024-05-31T23:00:00", "max_age_days": 30}, now=NOW)
    assert late.where.updated_after == NOW - 3600
    assert late.applied == {"updated_after": "2024-05-31T23:00:00+00:00", "max_age_days": 30}


##= docs/spec/knowledge.md#km-search-requests
##% An invalid filter MUST be refused with `invalid_request`.
@pytest.mark.parametrize(
    "raw",
    [
        {"subsystems": "Payment"},
        {"tags": [1]},
        {"namespaces": {"a": 1}},
        {"symbols": ["x"] * 101},
        {"artifact_types": ["picture"]},
        {"symbol_kinds": ["macro"]},
        {"symbol_languages": ["cobol"]},
        {"updated_after": "yesterday"},
        {"updated_after": 12},
        {"max_age_days": 0},
        {"max_age_days": True},
        {"max_age_days": "3"},
        {"max_age_days": 2.5},
        ["subsystems"],
    ],
)
def test_an_invalid_filter_is_refused(raw: Any) -> None:
    with pytest.raises(InvalidRequest):
        parse_filters(raw, now=NOW)
