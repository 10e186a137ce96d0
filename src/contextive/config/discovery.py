"""Which configuration file counts, and what it holds."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from contextive.config.document import FORMATS
from contextive.config.environment import CONFIG_VARIABLE
from contextive.errors import ConfigError

Source: TypeAlias = Literal["explicit", "environment", "project", "defaults"]

##= docs/spec/host.md#finding-the-file
##% Without both, a file `contextive.config` with the ending json, yaml, yml or toml in the project directory MUST be
##% used.
FILE_NAMES: Final = tuple(f"contextive.config{suffix}" for suffix in FORMATS)
MAX_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A configuration file, read once so that what was checked is what is used."""

    path: Path
    source: Source
    content: bytes = field(repr=False)


##= docs/spec/host.md#start
##% A start without any configuration file MUST work.
##= docs/spec/host.md#finding-the-file
##% More than one configuration file in the project directory MUST be an error that names them.
def find_file(project: Path, explicit: Path | None, environ: Mapping[str, str]) -> FoundFile | None:
    """The file that counts: given, named by the environment, or in the project; None when there is none."""
    ##= docs/spec/host.md#finding-the-file
    ##% A file that is named with `--config` MUST be used in place of every other.
    if explicit is not None:
        return _read(explicit, "explicit", " given by --config")
    ##= docs/spec/host.md#finding-the-file
    ##% Without `--config`, the file that the environment variable `CONTEXTIVE_CONFIG` names MUST be used.
    if named := environ.get(CONFIG_VARIABLE):
        return _read(Path(named), "environment", f" named by {CONFIG_VARIABLE}")
    # A dangling link counts as a file: to ignore it in silence would hide a mistake.
    present = [name for name in FILE_NAMES if os.path.lexists(project / name)]
    if len(present) > 1:
        raise ConfigError(
            f"The project has {len(present)} configuration files: {', '.join(present)}.", hint="Keep one of them."
        )
    return _read(project / present[0], "project", "") if present else None


##= docs/spec/host.md#finding-the-file
##% A file that is named and cannot be read MUST be an error.
##= docs/spec/host.md#finding-the-file
##% A configuration file that is larger than 1 MiB MUST be refused.
def _read(path: Path, source: Source, origin: str) -> FoundFile:
    subject = f'The configuration file "{path.name}"{origin}'
    try:
        # Without O_NONBLOCK a named pipe would hold up the start for ever.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (FileNotFoundError, NotADirectoryError):
        raise ConfigError(f"{subject} does not exist.") from None
    except (OSError, ValueError):
        raise ConfigError(f"{subject} cannot be read.") from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ConfigError(f"{subject} is not a regular file.")
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(MAX_BYTES + 1)
    except OSError:
        raise ConfigError(f"{subject} cannot be read.") from None
    finally:
        os.close(handle)
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{subject} is larger than 1 MiB.")
    return FoundFile(path, source, content)
