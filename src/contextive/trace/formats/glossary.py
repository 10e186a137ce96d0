"""The glossary of a specification: a list of terms in bold below a heading with that name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contextive.trace.formats.document import Document
from contextive.trace.formats.values import GlossaryEntry
from contextive.trace.text import trim

_TITLE = re.compile(
    r"glossary|terminology|definitions|key entities|用語|术语|術語|用词|глоссарий|термины|glosario|glossar|용어",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"[ \t]*[-*+][ \t]+\*\*([^*\n]{1,200})\*\*[ \t]*([:：–—-]?)[ \t]*")
MAX_ENTRIES = 2000


def glossary_of(document: Document) -> tuple[GlossaryEntry, ...]:
    return tuple(entry for _, entry in zip(range(MAX_ENTRIES), _entries(document), strict=False))


def _entries(document: Document) -> Iterator[GlossaryEntry]:
    for heading in document.headings:
        if len(heading.title) > 100 or _TITLE.search(heading.title) is None:
            continue
        for line in document.lines[heading.index + 1 : document.end_of(heading)]:
            found = None if line.is_code else _ENTRY.match(line.text)
            if found is not None and (found[2] or found[1].endswith((":", "："))):
                yield GlossaryEntry(trim(found[1].rstrip(":：")), trim(line.text[found.end() :]), line.number)
