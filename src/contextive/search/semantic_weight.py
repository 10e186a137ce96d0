"""The weight of semantic search relative to lexical search, for one query.

No weight is best for all queries. Lexical search is better for long queries, such as a whole
requirement or a piece of code. A short query whose words are in no chunk is phrased differently from the text, and
only semantic search can find that text. Other features, such as whether the query is a question or names a symbol, did not
predict which is better.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

WEIGHT_ALL_TERMS_FOUND: Final = 0.55
"""For a short query whose terms are all in the best lexical hit."""
WEIGHT_NO_TERM_FOUND: Final = 0.8
"""For a short query with no term in the best lexical hit."""
WEIGHT_LONG_QUERY: Final = 0.25
"""For a long query."""
SHORT_TERMS: Final = 5
LONG_TERMS: Final = 15


def semantic_weight(terms: Collection[str], found: Collection[str]) -> float:
    """The weight of semantic search, from 0 to 1; `found` are the query terms that are in the best lexical hit."""
    if not terms:
        return WEIGHT_ALL_TERMS_FOUND
    short = WEIGHT_NO_TERM_FOUND + (WEIGHT_ALL_TERMS_FOUND - WEIGHT_NO_TERM_FOUND) * len(found) / len(terms)
    length = min(1.0, max(0.0, (len(terms) - SHORT_TERMS) / (LONG_TERMS - SHORT_TERMS)))
    return short + (WEIGHT_LONG_QUERY - short) * length
