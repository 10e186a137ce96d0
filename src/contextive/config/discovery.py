"""Finds and reads the configuration file."""

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

ConfigSource: TypeAlias = Literal["explicit", "environment", "project", "defaults"]

##= docs/spec/host.md#configuration-file
##% Without either, a file `contextive.config` with the extension json, yaml, yml or toml in the project directory
##% MUST be used.
FILE_NAMES: Final = tuple(f"contextive.config{suffix}" for suffix in FORMATS)
MAX_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FoundConfigFile:
    """A configuration file. It is read once, so that the checked content is the content that is used."""

    path: Path
    source: ConfigSource
    content: bytes = field(repr=False)


##= docs/spec/host.md#startup
##% The server MUST be able to start without any configuration file.
##= docs/spec/host.md#configuration-file
##% More than one configuration file in the project directory MUST be an error that names them.
def find_config_file(project: Path, explicit: Path | None, environ: Mapping[str, str]) -> FoundConfigFile | None:
    """The file given by the user, named by the environment or found in the project; None if there is none."""
    ##= docs/spec/host.md#configuration-file
    ##% A file named with `--config` MUST be used instead of any other.
    if explicit is not None:
        return _read(explicit, "explicit", " given by --config")
    ##= docs/spec/host.md#configuration-file
    ##% Without `--config`, the file named by the environment variable `CONTEXTIVE_CONFIG` MUST be used.
    if named := environ.get(CONFIG_VARIABLE):
        return _read(Path(named), "environment", f" named by {CONFIG_VARIABLE}")
    # A dangling link counts as a file: ignoring it silently would hide a mistake.
    present = [name for name in FILE_NAMES if os.path.lexists(project / name)]
    if len(present) > 1:
        raise ConfigError(
            f"The project has {len(present)} configuration files: {', '.join(present)}.", hint="Keep one of them."
        )
    return _read(project / present[0], "project", "") if present else None


##= docs/spec/host.md#configuration-file
##% An explicitly named configuration file that cannot be read MUST be an error.
##= docs/spec/host.md#configuration-file
##% A configuration file larger than 1 MiB MUST be refused.
def _read(path: Path, source: ConfigSource, origin: str) -> FoundConfigFile:
    subject = f'The configuration file "{path.name}"{origin}'
    try:
        # Without O_NONBLOCK a named pipe would block the start forever.
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
    return FoundConfigFile(path, source, content)
