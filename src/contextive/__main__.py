"""`python -m contextive` is the command `contextive-mcp`."""

import sys

if not sys.flags.safe_path:
    # Python imports from the current directory first. That may be a cloned project, whose code must not run.
    del sys.path[0]

from contextive.cli import main

main()
