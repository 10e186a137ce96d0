"""Slugs: the names of notes in calls and links, and the file names made from them."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from anyascii import anyascii

_SPACES = re.compile(r"\s+")
_DROPPED = re.compile(r"[^a-z0-9-]")
_DASHES = re.compile(r"-{2,}")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
_FORBIDDEN = frozenset('<>:"/\\|?*')
_MAX_SLUG = 200
_MAX_STEM = 100
_DIGEST_DIGITS = 8
_MAX_NAME_BYTES = 200


##= docs/spec/notes.md#slugs
##% A slug MUST contain only lower-case ASCII letters, digits and single dashes.
def slugify(text: str) -> str:
    """The text in lower case, with dashes for spaces and only ASCII letters and digits kept. It may be empty."""
    dashed = _SPACES.sub("-", text.strip().lower())
    return _DASHES.sub("-", _DROPPED.sub("", dashed)).strip("-")


def first_slug(*names: str) -> str:
    """The slug of the first name that has one. If none does, names in other scripts are transliterated to ASCII."""
    for name in names:
        if slug := slugify(name):
            return slug
    for name in names:
        if slug := slugify(anyascii(name)):
            return slug
    return "note"


def link_key(target: str) -> str:
    """The form in which links and names are compared: trimmed, lower case, dashes for spaces, composed characters."""
    text = target if target.isascii() else unicodedata.normalize("NFC", target)
    return "-".join(text.lower().split())


##= docs/spec/notes.md#page-changes
##% A page returned by `create_page` or `rename_page` MUST be found by `get_page` under the slug in the answer.
def truncate_slug(slug: str) -> str:
    """The slug of a new note, short enough for tool arguments. Transliteration can make a title ten times longer."""
    return slug[:_MAX_SLUG].strip("-")


def file_stem(slug: str) -> str:
    """A file name without suffix for a slug, valid on every system. A long one ends with a digest to stay unique."""
    stem = slug.strip("-") or "note"
    if len(stem) > _MAX_STEM:
        digest = hashlib.sha256(stem.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_DIGITS]
        stem = f"{stem[: _MAX_STEM - _DIGEST_DIGITS - 1].strip('-')}-{digest}"
    return f"{stem}-note" if _RESERVED.fullmatch(stem) else stem


def is_safe_name(name: str) -> bool:
    """Whether a file name is valid on every system, has no invisible characters, and is not hidden."""
    return (
        bool(name)
        and name[0] not in ". "
        and name[-1] not in ". "
        and len(name.encode("utf-8", "replace")) <= _MAX_NAME_BYTES
        and _RESERVED.fullmatch(name) is None
        and not any(c in _FORBIDDEN or unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in name)
    )
