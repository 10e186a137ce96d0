# ruff: noqa: A005 - tests of `contextive.trace`; nobody imports them as `trace`
