"""TOML: one reader (`tomllib` within limits) and one editor (`tomlkit`), used by configuration, notes, traces and `install`."""
