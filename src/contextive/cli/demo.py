"""`contextive-mcp demo`."""

from __future__ import annotations

import argparse


def configure_demo(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run_demo)


def run_demo(_options: argparse.Namespace) -> int:
    from contextive.ops.demo import play_demo

    return play_demo()
