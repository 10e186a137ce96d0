"""How much meaning counts beside words, for one query.

No weight is best for all queries. Words gain with every word of a query: a long one, a requirement or a piece of code, is found
by them. A short one whose words no chunk has was put in other words than those of the text, and only its meaning can be found.
Other looks at a query, such as whether it is a question or names a symbol, did not tell which half would be right.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

WEIGHT_ALL_TERMS_FOUND: Final = 0.55
"""Share of meaning for a short query whose words all stand in the chunk that words find first."""
WEIGHT_NO_TERM_FOUND: Final = 0.8
"""The same where none of them does."""
WEIGHT_LONG_QUERY: Final = 0.25
"""Share of meaning for a long query."""
SHORT_TERMS: Final = 5
LONG_TERMS: Final = 15


def semantic_weight(terms: Collection[str], held: Collection[str]) -> float:
    """Between 0 and 1, from the query's terms and those of them that the best chunk by words holds."""
    if not terms:
        return WEIGHT_ALL_TERMS_FOUND
    short = WEIGHT_NO_TERM_FOUND + (WEIGHT_ALL_TERMS_FOUND - WEIGHT_NO_TERM_FOUND) * len(held) / len(terms)
    length = min(1.0, max(0.0, (len(terms) - SHORT_TERMS) / (LONG_TERMS - SHORT_TERMS)))
    return short + (WEIGHT_LONG_QUERY - short) * length
