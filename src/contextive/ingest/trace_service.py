"""The requirements of a project, as the files are at each call. Concurrent callers get equal answers."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from contextive.errors import ConfigError, ContextiveError
from contextive.ingest.trace_defaults import default_trace_settings
from contextive.ingest.traced_project import TracedProject, TraceState
from contextive.trace.catalog import SpecificationEntry, TraceCatalog
from contextive.trace.citation import Citation, CommentStyle
from contextive.trace.citation_reading import COMMENT_STYLES
from contextive.trace.citation_writing import citation_comment
from contextive.trace.duvet_config import TraceSettings, parse_duvet_config
from contextive.trace.formats.values import SpecFormat
from contextive.trace.requirement_file import entry_lines
from contextive.trace.target import Target, cached_path, normalise_url
from contextive.workspace.directory_handles import require_project
from contextive.workspace.directory_listings import DirectoryListings
from contextive.workspace.files import FileText, ProjectFiles
from contextive.workspace.shared_refresh import SharedRefresh

logger = logging.getLogger(__name__)

CONFIG_PATH = ".duvet/config.toml"


@dataclass(frozen=True)
class TraceView:
    """A project at one moment: the state of its files and the catalog built from it."""

    state: TraceState
    catalog: TraceCatalog
    generation: int
    project_above: str = ""
    """A message if this project has no specifications and a directory above it has a duvet configuration."""

    def is_extracted(self, entry: SpecificationEntry) -> bool:
        """Whether the requirements of a specification are known. If not, it is only cited."""
        return entry.target in self.state.extracted


def fetch_missing(root: Path, settings: TraceSettings) -> None:
    """Download the configured specifications that are not stored yet. Failures are logged."""
    from contextive.workspace.http_fetch import FetchPolicy, fetch_specification

    for source in settings.specifications:
        if "://" not in source.source:
            continue
        target = Target(normalise_url(source.source))
        try:
            path = root / cached_path(target.path, settings.download_dir)
        except ValueError:
            continue  # not a URL; reported when the settings are read
        if not path.exists():
            try:
                fetch_specification(target.canonical, path, policy=FetchPolicy(), within=root)
            except ContextiveError as error:
                logger.warning("%s could not be fetched: %s", target.path, error.full_message())


class TraceService:
    """Returns the current requirements. One refresh runs at a time; callers that wait for the next one share it."""

    def __init__(
        self,
        root: Path,
        *,
        specifications: tuple[str, ...] = (),
        sources: tuple[str, ...] = (),
        fetch: bool = False,
        formats: Sequence[SpecFormat] = (),
        hidden_in: Collection[str] = (),
    ) -> None:
        """`formats` are the spec-driven formats to read. The profiles in `hidden_in` do not show them."""
        self.files = ProjectFiles.bounded(root)
        self._formats = tuple(formats)
        self._hidden_in = frozenset(hidden_in)
        self._wanted = (specifications, sources)
        self._fetch = fetch
        self._shared_refresh = SharedRefresh()
        self._folders = DirectoryListings()
        self._presence_lock = threading.Lock()
        self._presence_folders = DirectoryListings()
        self._config: tuple[FileText, TraceSettings] | None = None
        self._project: TracedProject | None = None
        self._view: TraceView | None = None
        self._unfetched: deque[TraceSettings] = deque(maxlen=1)
        self._statuses: dict[str, str] | None = None
        self._list_version: tuple[int, int] | None = None

    ##= docs/spec/trace.md#spec-driven-formats
    ##% The profile `duvet` MUST show these specifications only if `trace.formats` is set, and the `duvet` commands never.
    def for_profile(self, profile: str) -> TraceService:
        """The requirements that a profile shows: all, or only those that duvet would find."""
        return self._without_formats if profile in self._hidden_in and self._formats else self

    @cached_property
    def _without_formats(self) -> TraceService:
        specifications, sources = self._wanted
        return TraceService(self.files.root, specifications=specifications, sources=sources, fetch=self._fetch)

    def view(self) -> TraceView:
        """The current project. Cheap if nothing changed: one file system call per file."""
        view = self._current_view()
        settings = self._take_unfetched()
        if settings is None:
            return view
        # One caller waits for the network; the others get the current state meanwhile.
        fetch_missing(self.files.root, settings)
        return self._current_view()

    def _take_unfetched(self) -> TraceSettings | None:
        """Settings with specifications that may have to be fetched; only the first caller gets them."""
        try:
            return self._unfetched.pop()
        except IndexError:
            return None

    ##= docs/spec/trace.md#freshness
    ##% Concurrent calls on an unchanged project MUST get equal answers.
    def _current_view(self) -> TraceView:
        self._shared_refresh.run(self._refresh)
        assert self._view is not None
        return self._view

    def _refresh(self) -> None:
        require_project(self.files.root)
        self._folders = self._folders.refreshed()
        state = self._current_project().read(self._folders)
        if self._view is None or self._view.state is not state:
            generation = self._view.generation + 1 if self._view else 1
            catalog = TraceCatalog(
                state.analysis,
                state.specifications,
                root=str(self.files.root),
                download_dir=state.settings.download_dir,
            )
            above = "" if catalog.specifications else self._project_above()
            self._view = TraceView(state, catalog, generation, above)

    ##= docs/spec/trace.md#defaults
    ##% In a directory without specifications, a server MUST point at a `.duvet/config.toml` in the directories above it.
    def _project_above(self) -> str:
        """Where the duvet configuration of a project around this directory is, as a message."""
        for height in range(1, len(self.files.root.parents) + 1):
            above = "../" * height
            if self.files.is_file(above + CONFIG_PATH):
                return (
                    f"There is a {above}{CONFIG_PATH}: start the server in that directory, or with --project {above}."
                )
        return ""

    def has_specifications(self) -> bool:
        """Whether the project has or names a specification. Cheaper than `view`: no file is parsed."""
        require_project(self.files.root)
        with self._presence_lock:
            self._presence_folders = self._presence_folders.refreshed()
            content = self.files.read(CONFIG_PATH)
            if content.fingerprint is not None:
                return True
            if self._formats and self._has_formats(self._presence_folders):
                return True
            settings = default_trace_settings(
                str(self.files.root), *self._wanted, self.files.allows, self._presence_folders
            )
            return bool(settings.specifications)

    def _has_formats(self, folders: DirectoryListings) -> bool:
        from contextive.ingest.spec_reading import SpecReader

        return bool(SpecReader(self.files, self._formats).find(folders))

    def remember_statuses(self) -> None:
        """Remember the current statuses as the baseline of `changed_resources`, unless there is one."""
        if self._statuses is None:
            self._statuses = self._current_statuses()

    def changed_resources(self) -> list[str]:
        """URIs of requirements whose status or citations changed since the last call, and of their parents."""
        now = self._current_statuses()
        before, self._statuses = self._statuses, now
        if before is None or before == now:
            return []
        changed = {uri for uri in now.keys() | before.keys() if now.get(uri) != before.get(uri)}
        related = {uri.rpartition("/")[0] for uri in changed} | {f"{uri}/citations" for uri in changed}
        related |= {uri.partition("/sections/")[0] for uri in changed}
        return sorted(changed | related | {"duvet:///requirements", "duvet:///citations"})

    def _current_statuses(self) -> dict[str, str]:
        catalog = self.view().catalog
        return {f"duvet://{catalog.full_path(r)}": f"{r.status} {len(r.related)}" for r in catalog.requirements}

    def list_version(self) -> int:
        """A number that changes when specifications, sections or requirements are added, removed or renamed."""
        view = self.view()
        known = self._list_version
        if known is None or known[0] != view.generation:
            catalog = view.catalog
            entries = (
                (entry.id, entry.title, tuple((section.id, section.title) for section in entry.specification.sections))
                for entry in catalog.specifications.values()
            )
            paths = tuple(catalog.full_path(requirement) for requirement in catalog.requirements)
            known = self._list_version = view.generation, hash((tuple(entries), paths))
        return known[1]

    def lines_of(self, path: str) -> list[str] | None:
        """The lines of a file with citations; None if it cannot be read."""
        content = self.files.read(path)
        return content.text.split("\n") if isinstance(content, FileText) else None

    def comment_of(self, citation: Citation) -> str:
        """The comment of a citation, as written in its file."""
        lines = self.lines_of(citation.source)
        if lines is None or len(lines) < citation.line:
            return citation_comment(citation, COMMENT_STYLES[0])
        if citation.base is not None:
            return "\n".join(entry_lines(lines, citation.line - 1))
        return "\n".join(line.strip() for line in lines[citation.line - 1 : max(citation.end_line, citation.line)])

    def style_for(self, view: TraceView, near: Citation | None = None) -> CommentStyle:
        """The comment style to propose: that of the citation `near`, or else the most common one of the project."""
        if near is not None and near.base is None:
            for style in (*(source.style for source in view.state.settings.sources), *COMMENT_STYLES):
                if near.text.startswith(style.meta):
                    return style
        return view.state.usual_style or COMMENT_STYLES[0]

    def state_of(
        self, files: ProjectFiles, folders: DirectoryListings, settings: TraceSettings | None = None
    ) -> TraceState:
        """The state of the project with other files, such as those of a commit, and with the settings in them."""
        self.view()
        assert self._project is not None
        settings = settings or self._settings_in(files, folders)
        return self._project.at(files, settings).read(folders)

    def _current_project(self) -> TracedProject:
        settings = self._settings()
        if self._project is not None and settings == self._project.settings:
            return self._project
        if self._fetch:
            self._unfetched.append(settings)
        if self._project is None:
            self._project = TracedProject(self.files, settings, unify_aliases=True, formats=self._formats)
        else:
            self._project.change_settings(settings)
        return self._project

    ##= docs/spec/trace.md#freshness
    ##% A change to `.duvet/config.toml` MUST take effect without a restart.
    def _settings(self) -> TraceSettings:
        content = self.files.read(CONFIG_PATH)
        if isinstance(content, FileText) and self._config is not None and self._config[0] == content:
            return self._config[1]
        settings = self._settings_in(self.files, self._folders)
        if isinstance(content, FileText):
            self._config = (content, settings)
        return settings

    def _settings_in(self, files: ProjectFiles, folders: DirectoryListings) -> TraceSettings:
        content = files.read(CONFIG_PATH)
        if isinstance(content, FileText):
            return parse_duvet_config(content.text, CONFIG_PATH, None)
        if content.fingerprint is not None:
            raise ConfigError(f"{CONFIG_PATH} cannot be read: {content.reason}.")
        return default_trace_settings(str(files.root), *self._wanted, files.allows, folders)
