"""What is traced in a project that says nothing: the usual places of specifications, and code by its file endings."""

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
"""A text of a URL below the directory of its host."""
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
    """Settings from our own configuration's `trace` section, with defaults for what it leaves open."""
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
##% The texts of URLs and the requirement files that older versions of duvet keep below `specs` MUST be supported.
def _old_layout_settings(
    settings: TraceSettings, root: str, stored: dict[str, str], allows: Allows | None, folders: DirectoryListings
) -> TraceSettings:
    """The settings of a project in the layout that duvet had before its configuration file.

    What was extracted there says which texts count; the others are there to be referred to.
    """
    written = set(Glob(_STORED_REQUIREMENTS).walk(root, allows, folders))
    folders_written = {path.rpartition("/")[0] for path in written}
    extracted = any(path.removesuffix(".txt") in folders_written for path in stored)
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


def _specifications(root: str, wanted: tuple[str, ...], allows: Allows | None, folders: DirectoryListings) -> list[str]:
    found: dict[str, None] = {}
    for pattern in wanted or SPECIFICATION_PATTERNS:
        if "://" in pattern:
            found[pattern] = None
        else:
            glob = Glob(pattern, skip_generated=True)
            if allows is None or allows(glob.base):
                found |= dict.fromkeys(glob.walk(root, allows, folders))
    return list(found)


def _sources(wanted: tuple[str, ...]) -> list[SourcePattern]:
    if not wanted:
        return [
            SourcePattern(f"**/*.{ending}", style) for ending, styles in STYLES_BY_ENDING.items() for style in styles
        ]
    patterns = []
    for pattern in wanted:
        ending = pattern.rpartition(".")[2]
        styles = STYLES_BY_ENDING.get(ending, (_SLASHES, *_HASHES))
        patterns += [SourcePattern(pattern, style) for style in styles]
    return patterns
