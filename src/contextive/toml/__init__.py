"""TOML: a reader (`tomllib` with limits) and an editor (`tomlkit`), for configuration, notes, traces and `install`."""
