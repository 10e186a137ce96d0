"""Where documents may be stored, and under which names: decided from the path alone, before any file is opened.

Stored documents are read later by people and by agents. So a document must not be stored where a program would run it
or where an agent looks for instructions: no code, no build files, no tool settings, no instructions for agents.
Formats for tool settings (JSON, YAML, TOML) are allowed below the documents directory only. `writing_rules` lists the
names and contents that are refused everywhere, also for notes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from unicodedata import normalize

from contextive.errors import Forbidden, InvalidRequest
from contextive.ingest.writing_rules import DATA_ENDINGS, check_name, has_short_form, reason_to_refuse
from contextive.notes.slug import file_stem, is_safe_name
from contextive.workspace.directory_handles import fold_name
from contextive.workspace.discovery import GENERATED_DIRECTORIES

PROSE_ENDINGS: Final = frozenset({"md", "markdown", "txt", "rst", "adoc", "asciidoc", "org", "text"})
"""Formats that can have front matter."""
TABLE_ENDINGS: Final = frozenset({"csv", "tsv"})
TEXT_ENDINGS: Final = PROSE_ENDINGS | TABLE_ENDINGS | DATA_ENDINGS
UPLOAD_ENDINGS: Final = TEXT_ENDINGS | {
    "pdf", "png", "jpg", "jpeg", "gif", "webp", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub",
}  # fmt: skip

_PROGRAM_FILES: Final = frozenset(
    {
        "brewfile", "caddyfile", "containerfile", "dockerfile", "earthfile", "fastfile", "gemfile", "gnumakefile",
        "jenkinsfile", "justfile", "makefile", "podfile", "procfile", "rakefile", "tiltfile", "vagrantfile",
    }
)  # fmt: skip
"""Files without an extension. They are checked as directory names, because a directory would take their place."""
_PROGRAM_FOLDERS: Final = frozenset({"hooks", "githooks", "git-hooks", "venv"}) | GENERATED_DIRECTORIES
_TOP_LEVEL_PROGRAM_FOLDERS: Final = frozenset({"agents", "commands", "recipes", "skills"})
_ENCODED_PART: Final = re.compile(r"%(?:25)*(?:2e|2f|5c|00|c0|c1|e0)", re.IGNORECASE)
"""A percent-encoded dot, slash or NUL: a program that decodes the name would end up somewhere else."""
_MAX_CHARACTERS: Final = 1000
_MAX_PARTS: Final = 32
_NOT_IN_SLUG: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Destination:
    """The parts of a directory below the content root, and the name of a file in it, if one was given."""

    folder: tuple[str, ...]
    name: str | None = None


##= docs/spec/gateway.md#km-upload
##% Without a destination, a document MUST be stored in `knowledge.docsSubdir` under its original name.
##= docs/spec/gateway.md#km-upload
##% A destination MUST be treated as a file if it has an extension, and as a directory otherwise.
def parse_destination(given: str | None, docs: tuple[str, ...]) -> Destination:
    """Parse a destination: a file if it has an extension, else a directory; without one, the documents directory."""
    if given is None or not given.strip():
        return Destination(docs)
    if given in (".", "./"):
        return Destination(())
    parts = split_path(given, "destination")
    if given.startswith(("/", "~")):
        raise InvalidRequest("The destination is not a relative path.", hint="Make it relative to the content root.")
    for part in parts:
        if not is_safe_name(part) or has_short_form(part):
            raise _bad_name()
    if given.endswith("/") or not ending_of(parts[-1]):
        return Destination(parts)
    return Destination(parts[:-1], parts[-1])


def split_path(given: str, what: str) -> tuple[str, ...]:
    """The parts of a path without `..`. A leading slash is ignored."""
    if len(given) > _MAX_CHARACTERS:
        raise InvalidRequest(f"The {what} is longer than {_MAX_CHARACTERS} characters.")
    if "\\" in given or any(not c.isprintable() for c in given):
        raise InvalidRequest(f"The {what} has a backslash or an unprintable character.", hint="Use slashes.")
    if _ENCODED_PART.search(given):
        raise InvalidRequest(f"The {what} is percent-encoded.", hint="Write dots and slashes unencoded.")
    bare = given.removeprefix("/").removesuffix("/")
    parts = tuple(part for index, part in enumerate(bare.split("/")) if part != "." or index)
    if not parts or any(part in ("", ".", "..") for part in parts) or len(parts) > _MAX_PARTS:
        raise InvalidRequest(f"The {what} is not a plain path.", hint="Leave out empty parts, `.` and `..`.")
    if any(part != normalize("NFC", part) for part in parts):
        raise InvalidRequest(f"The {what} has decomposed letters.", hint="Use composed letters (NFC).")
    return parts


def check_destination(target: Destination, docs: tuple[str, ...], endings: frozenset[str]) -> str:
    """The path of a file relative to the content root. Raises Forbidden or InvalidRequest if it is not allowed."""
    name = target.name
    assert name is not None
    if not is_safe_name(name):
        raise _bad_name()
    ending = ending_of(name)
    if ending not in endings:
        raise Forbidden(
            f"Files {'of type .' + ending if ending else 'without an extension'} are not stored.",
            hint=f"Allowed: {', '.join(sorted(endings))}. A directory ends with a slash.",
        )
    if ending in DATA_ENDINGS and target.folder[: len(docs)] != docs:
        raise Forbidden(f"Files of type .{ending} are stored below {'/'.join(docs)} only.")
    check_name(name)
    folded = [fold_name(part) for part in target.folder]
    if any(part in _PROGRAM_FILES or part in _PROGRAM_FOLDERS or part.startswith(".") for part in folded) or (
        folded and folded[0] in _TOP_LEVEL_PROGRAM_FOLDERS
    ):
        raise Forbidden("This directory is for tools or agents; documents are not stored there.")
    return "/".join((*target.folder, name))


def ending_of(name: str) -> str:
    """The extension of a file name without the dot, case-folded; empty if there is none."""
    stem, dot, ending = fold_name(name).rpartition(".")
    return ending if dot and stem else ""


##= docs/spec/gateway.md#km-storetext
##% A text without a file name MUST be named after its title, or after the current time if it has no title.
def name_from_title(title: str) -> str:
    """The file name for a title."""
    plain = normalize("NFKD", title).encode("ascii", "ignore").decode("ascii").lower()
    stem = file_stem(_NOT_IN_SLUG.sub("-", plain).strip("-"))
    name = f"{stem}.md"
    return f"{stem}-note.md" if reason_to_refuse(name) else name


def name_from_time(now: float, attempt: int = 1) -> str:
    """The file name of a text without a title, from the time in UTC."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d-%H%M%S")
    return f"note-{stamp}.md" if attempt == 1 else f"note-{stamp}-{attempt}.md"


def _bad_name() -> InvalidRequest:
    return InvalidRequest(
        "The destination has a hidden name or one that some systems do not allow.",
        hint="Use letters, digits, `-`, `_` and inner dots, at most 200 bytes per name.",
    )
