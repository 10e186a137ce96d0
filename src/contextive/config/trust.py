"""The list of configuration files that the user trusts, stored outside every project.

Trust applies to a path and its content: a changed file is untrusted until the user trusts it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from contextive.errors import ConfigError
from contextive.file_writing import make_folders, write_file

_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class TrustEntry:
    """A file that the user trusts as long as its content has this BLAKE2b digest."""

    path: Path
    digest: str


##= docs/spec/host.md#trust
##% The list of trusted files MUST be stored outside every project and be readable only by its user.
def default_trust_path(environ: Mapping[str, str]) -> Path:
    """The path of the user's list of trusted files: `contextive/trust.json` in the user's configuration directory."""
    configured = Path(environ.get("XDG_CONFIG_HOME", ""))
    # The XDG specification says to ignore a relative path.
    base = configured if configured.is_absolute() else _home(environ) / ".config"
    return base / "contextive" / "trust.json"


@dataclass(frozen=True, slots=True)
class TrustStore:
    """The list of trusted files; a list that cannot be read counts as empty."""

    path: Path

    ##= docs/spec/host.md#trust
    ##% Trust MUST be tied to the path and the content of a file, so that a changed file is untrusted again.
    def is_trusted(self, config_file: Path, content: bytes | None = None) -> bool:
        """Whether the user trusts this file with its current content; pass the content if it was already read."""
        try:
            content = config_file.read_bytes() if content is None else content
        except OSError:
            return False
        return self._read().get(_identity(config_file)) == _digest(content)

    def trust(self, config_file: Path) -> TrustEntry:
        """Trust the file with its current content."""
        try:
            digest = _digest(config_file.read_bytes())
        except OSError:
            raise ConfigError(f'The file "{config_file.name}" cannot be read, so it cannot be trusted.') from None
        self._write({**self._read(), _identity(config_file): digest})
        return TrustEntry(Path(_identity(config_file)), digest)

    def revoke(self, config_file: Path) -> bool:
        """Stop trusting the file; True if it was trusted."""
        digests = self._read()
        if digests.pop(_identity(config_file), None) is None:
            return False
        self._write(digests)
        return True

    def entries(self) -> tuple[TrustEntry, ...]:
        """The trusted files, ordered by path."""
        return tuple(TrustEntry(Path(path), digest) for path, digest in sorted(self._read().items()))

    def _read(self) -> dict[str, str]:
        try:
            stored = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        files = stored.get("files") if isinstance(stored, dict) and stored.get("version") == _VERSION else None
        if not isinstance(files, dict):
            return {}
        return {path: digest for path, digest in files.items() if isinstance(digest, str)}

    def _write(self, digests: Mapping[str, str]) -> None:
        text = json.dumps({"version": _VERSION, "files": dict(sorted(digests.items()))}, indent=2) + "\n"
        try:
            make_folders(self.path.parent, mode=0o700)
            write_file(self.path, text.encode(), mode=0o600)
        except OSError:
            raise ConfigError("The list of trusted files cannot be written.") from None


def _home(environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME") or environ.get("USERPROFILE")
    return Path(home) if home else Path.home()


def _identity(config_file: Path) -> str:
    return str(config_file.resolve())


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content).hexdigest()
