"""Run the benchmarks and rewrite their tables: ``python -m benchmarks [NAME ...]``."""

from __future__ import annotations

import sys
import time

from benchmarks import (
    calibration,
    dimension,
    discoveries,
    fit,
    memory,
    missing,
    noise,
    path,
    profile,
    recovery,
    scale,
    scaling,
    speed,
    tolerance,
)

MODULES = (
    speed,
    profile,
    fit,
    path,
    scaling,
    memory,
    tolerance,
    recovery,
    calibration,
    discoveries,
    noise,
    missing,
    dimension,
    scale,
)
ALL = {module.__name__.split(".")[-1]: module for module in MODULES}


def main() -> None:
    names = sys.argv[1:] or list(ALL)
    unknown = [name for name in names if name not in ALL]
    if unknown:
        sys.exit(f"no benchmark called {', '.join(unknown)}; there are: {', '.join(ALL)}")
    for name in names:
        start = time.perf_counter()
        ALL[name].main()
        print(f"[{name}] done in {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":  # worker processes import this module too
    main()
