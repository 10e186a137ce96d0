"""Fuzz for FUZZ_SECONDS with a new random seed each time; inputs that break an invariant are added to the corpus."""

from __future__ import annotations

import hashlib
import os
import random
import sys
import time

from .corpus import FOLDER, seeds_of
from .invariants import InvariantBroken, check
from .mutation import mutated
from .targets import TARGETS


def main() -> int:
    seconds = float(os.environ.get("FUZZ_SECONDS", "300"))
    start = int(os.environ.get("FUZZ_SEED", "0")) or random.SystemRandom().randrange(1, 2**31)
    names = [name for name in sorted(TARGETS) if name in sys.argv[1:]] or sorted(TARGETS)
    print(f"FUZZ_SEED={start}, {seconds / len(names):.1f} seconds for each of {len(names)} parsers", flush=True)
    broken = 0
    for name in names:
        source, seeds, tried = random.Random(f"{start} {name}"), seeds_of(name), 0
        ends = time.monotonic() + seconds / len(names)
        while time.monotonic() < ends:
            data = mutated(source, seeds)
            tried += 1
            try:
                check(TARGETS[name], data)
            except InvariantBroken as fault:
                broken += 1
                path = FOLDER / name / f"broke-{hashlib.sha256(data).hexdigest()[:12]}"
                path.write_bytes(data)
                print(f"{fault}\nsaved to {path.relative_to(FOLDER.parent)}", flush=True)
                break
        print(f"{name:24} {tried} inputs", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
