"""`python -m contextive` is the command `contextive-mcp`."""

import sys

if not sys.flags.safe_path:
    # Python looks for modules in the current directory first. That may be a cloned project, which must not be run.
    del sys.path[0]

from contextive.cli import main

main()
