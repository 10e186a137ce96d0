"""`duvet extract`: writes the requirements of a specification to files, one for each section."""

from __future__ import annotations

from pathlib import Path

from contextive.errors import ConfigError, UsageError
from contextive.ops.duvet_output import write_report
from contextive.ops.duvet_report import DuvetProject
from contextive.trace.extraction import extract_requirements, format_requirement_comments, format_requirement_file
from contextive.trace.specification import Format, parse_specification
from contextive.trace.target import Target, cached_path, normalise_url, requirements_dir
from contextive.workspace.files import ProjectFiles, Unreadable


##= docs/spec/trace.md#other-commands
##% The command `duvet extract` MUST write one file for each section that has requirements.
def extract_to(
    project: DuvetProject,
    target_path: str,
    format_name: str,
    extension: str,
    out: str,
    download_dir: str,
    *,
    fetch: bool,
) -> None:
    """Write the requirement files of one specification below `out`."""
    format_ = Format.parse(format_name)
    if format_ is None:
        raise UsageError(f"{format_name[:20]!r} is not a known format.", hint="Formats: auto, ietf, markdown.")
    if extension not in ("toml", "rs"):
        raise UsageError(f'unsupported extraction type: "{extension[:20]}".', hint="Types: toml, rs.")
    if Path(out).suffix:
        raise UsageError(f"single file extraction not supported, got {out}.", hint="Name a directory with --out.")
    target = Target(normalise_url(target_path) if "://" in target_path else target_path)
    path = cached_path(target.path, download_dir) if target.is_url else target.path
    if fetch and target.is_url and not (project.root / path).exists():
        from contextive.workspace.http_fetch import FetchPolicy, fetch_specification

        fetch_specification(target.canonical, project.root / path, policy=FetchPolicy(), within=project.root)
    project.progress("Extracting", f"requirements from {target.path}")
    content = ProjectFiles(project.root).read(path)
    if isinstance(content, Unreadable):
        hint = f"Save its text as {path}, or use --fetch to download it." if target.is_url else "Check the path."
        raise ConfigError(f"{target.path} cannot be read: {content.reason}.", hint=hint)
    sections = extract_requirements(parse_specification(content.text, format_, path))
    folder = requirements_dir(target, download_dir, out if out != "." else "")
    to_text = format_requirement_file if extension == "toml" else format_requirement_comments
    for section, requirements in sections:
        write_report(
            project.root / folder.lstrip("/") / f"{section.id}.{extension}", to_text(target.path, section, requirements)
        )
    total = sum(len(requirements) for _, requirements in sections)
    project.progress("Extracted", f"{total} requirements across {len(sections)} sections ")
