"""Trace settings of a project without a duvet configuration: usual paths of specifications, and known languages."""

from __future__ import annotations

import re
from dataclasses import replace

from contextive.trace.citation import CommentStyle
from contextive.trace.duvet_config import REQUIREMENT_PATTERNS, SourcePattern, SpecificationSource, TraceSettings
from contextive.workspace.directory_listings import DirectoryListings
from contextive.workspace.globs import Allows, Glob

SPECIFICATION_PATTERNS = (
    "specs/**/*.md",
    "specs/**/*.txt",
    "spec/**/*.md",
    "docs/spec/**/*.md",
    "docs/specs/**/*.md",
    "**/*.requirements.md",
)
_STORE = "specs"
_STORED = re.compile(rf"{_STORE}/((?:[a-z0-9-]+\.)+[a-z]{{2,}}/.+)\.txt\Z")
"""The stored text of a URL, below a directory named after its host."""
_STORED_REQUIREMENTS = f"{_STORE}/**/*.toml"
_SLASHES = CommentStyle("//=", "//#")
_STARS = CommentStyle("*=", "*#")
_HASHES = (CommentStyle("##=", "##%"), CommentStyle("#=", "#%"))
STYLES_BY_ENDING: dict[str, tuple[CommentStyle, ...]] = {
    **dict.fromkeys(
        ("rs", "go", "js", "jsx", "ts", "tsx", "mjs", "cs", "swift", "kt", "scala", "dart", "zig"), (_SLASHES,)
    ),
    **dict.fromkeys(("c", "h", "cc", "cpp", "cxx", "hpp", "java", "m", "php", "dfy"), (_SLASHES, _STARS)),
    **dict.fromkeys(("py", "pyi", "rb", "sh", "pl", "r", "yml", "yaml", "ex", "exs"), _HASHES),
    "lua": (CommentStyle("--=", "--#"),),
    "sql": (CommentStyle("--=", "--#"),),
}


##= docs/spec/trace.md#defaults
##% Without `.duvet/config.toml`, specifications in the usual places and source files in known languages MUST be
##% traced.
def default_trace_settings(
    root: str,
    specifications: tuple[str, ...],
    sources: tuple[str, ...],
    allows: Allows | None = None,
    folders: DirectoryListings | None = None,
) -> TraceSettings:
    """Settings from the `trace` section of the configuration, with defaults for the rest."""
    folders = folders or DirectoryListings()
    paths = _specifications(root, specifications, allows, folders)
    settings = TraceSettings(
        specifications=tuple(map(SpecificationSource, paths)),
        sources=tuple(_sources(sources)),
        requirement_patterns=REQUIREMENT_PATTERNS,
        automatic=not sources,
    )
    stored = {path: f"https://{found[1]}" for path in paths if (found := _STORED.match(path))}
    return settings if specifications or not stored else _old_layout_settings(settings, root, stored, allows, folders)


##= docs/spec/trace.md#defaults
##% Downloaded specifications, and the requirement files that older versions of duvet keep below `specs`, MUST be
##% supported.
def _old_layout_settings(
    settings: TraceSettings, root: str, stored: dict[str, str], allows: Allows | None, folders: DirectoryListings
) -> TraceSettings:
    """The settings of a project in the layout of duvet versions without a configuration file.

    If requirements were extracted, only they count; the stored texts are then only cited.
    """
    requirement_files = set(Glob(_STORED_REQUIREMENTS).walk(root, allows, folders))
    extracted_folders = {path.rpartition("/")[0] for path in requirement_files}
    extracted = any(path.removesuffix(".txt") in extracted_folders for path in stored)
    sources = []
    for source in settings.specifications:
        if source.source not in stored:
            sources.append(source)
        elif not extracted:
            sources.append(SpecificationSource(stored[source.source]))
    return replace(
        settings,
        specifications=tuple(sources),
        requirement_patterns=(*settings.requirement_patterns, _STORED_REQUIREMENTS),
        download_dir=_STORE,
    )


def _specifications(
    root: str, patterns: tuple[str, ...], allows: Allows | None, folders: DirectoryListings
) -> list[str]:
    found: dict[str, None] = {}
    for pattern in patterns or SPECIFICATION_PATTERNS:
        if "://" in pattern:
            found[pattern] = None
        else:
            glob = Glob(pattern, skip_generated=True)
            if allows is None or allows(glob.base):
                found |= dict.fromkeys(glob.walk(root, allows, folders))
    return list(found)


def _sources(patterns: tuple[str, ...]) -> list[SourcePattern]:
    if not patterns:
        return [
            SourcePattern(f"**/*.{ending}", style) for ending, styles in STYLES_BY_ENDING.items() for style in styles
        ]
    sources = []
    for pattern in patterns:
        ending = pattern.rpartition(".")[2]
        styles = STYLES_BY_ENDING.get(ending, (_SLASHES, *_HASHES))
        sources += [SourcePattern(pattern, style) for style in styles]
    return sources
