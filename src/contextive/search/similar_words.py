"""Words that mean about the same in a question and in a specification.

Specifications use few words, and always the same ones: a frame is discarded, a connection is terminated, a token is
zero-length. A question says *thrown away*, *closed* and *empty*. Each line is a group; a word may be in several groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from contextive.knowledge.tokeniser import query_terms

_GROUPS: Final = """
    answer reply respond response echo
    discard drop ignore throw
    close terminate end abort stop
    begin start initiate open
    duplicate twice repeat again second same multiple several
    empty zero-length zero
    unknown unsupported unrecognized understand support
    missing absent omit lack
    large big size length maximum exceed larger
    small minimum smaller reduce decrease lower least less below under
    long length time period duration interval last persist
    many number limit count most
    first initial
    before prior previous until
    invalid wrong malformed incorrect bad
    allow permit accept
    forbid prohibit
    increase grow raise larger
    receive get arrive receipt
    send transmit
    need require
    old earlier previous
    wait delay
    immediately once soon
    guess predict unpredictable
    choose select pick
    change modify update different
    store remember save retain keep
    verify check validate
    encrypt protect
    lose lost loss
    use reuse
    one single only
"""


##= docs/spec/trace.md#search-requirements
##% A search SHOULD find a requirement by words that mean about the same as its own, and by those of the sentence that it
##% refers back to.
def similar_terms(term: str) -> tuple[str, ...]:
    """The tokens of words with a similar meaning; none for most words."""
    return _similar().get(term, ())


@cache
def _similar() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for line in _GROUPS.strip().splitlines():
        terms = [query_terms(word)[0] for word in line.split()]
        for term in terms:
            found.setdefault(term, {}).update(dict.fromkeys(other for other in terms if other != term))
    return {term: tuple(others) for term, others in found.items()}
