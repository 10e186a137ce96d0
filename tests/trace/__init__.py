# ruff: noqa: A005 - tests of `contextive.trace`; never imported as `trace`
