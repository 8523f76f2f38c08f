"""Where the time of the default goes: its slowest stages and functions, on tables of every shape.

python -m benchmarks profile     rewrites benchmarks/results/profile.md
"""

from __future__ import annotations

import cProfile
import pstats
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import gsppca
from benchmarks.speed import tables
from benchmarks.tools import table, write

STAGES = {
    "tails": ("components/clipping.py", "measure_tails"),
    "number of components": ("stages.py", "estimate_n_components"),
    "joint search": ("evidence/search.py", "find_support"),
    "core": ("rules/core.py", "find_core"),
    "components": ("components/axes.py", "principal_axes"),
}
SLOWEST, SHOWN = 3, 8  # stages and functions of a table
SOURCE = Path(gsppca.__file__).parent
WIDEST = "simulated, widest"  # takes as long as all others

Function = tuple[str, int, str]


def main() -> None:
    rows: list[list[object]] = []
    with threadpool_limits(1, "blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gsppca.GSPPCA().fit(np.random.default_rng(0).standard_normal((20, 10)))  # imports are not profiled
        for name, get in tables().items():
            if name != WIDEST:
                rows.append(_profiled(name, get()))
    write(
        "profile",
        "Where the time goes",
        f'`GSPPCA().fit`, the default with `n_components="auto"`, one BLAS thread, under `cProfile`, which makes short '
        f"functions look longer. The {SLOWEST} slowest stages, and the {SHOWN} functions of the library with the most "
        "time in themselves and in what they call of numpy and scipy, in percent of the fit.",
        table(["table", "CPU seconds", "stages", "functions"], rows),
    )


def _profiled(name: str, X: object) -> list[object]:
    profile = cProfile.Profile(time.process_time)
    profile.runcall(gsppca.GSPPCA().fit, X)
    stats = pstats.Stats(profile)
    calls: dict[Function, Any] = stats.stats  # type: ignore[attr-defined]
    total: float = stats.total_tt  # type: ignore[attr-defined]
    stages = {stage: sum(calls[one][3] for one in calls if _is_at(one, *at)) for stage, at in STAGES.items()}
    functions = {place: entry[2] for place, entry in calls.items() if _is_ours(place)}
    for place, entry in calls.items():
        if not _is_ours(place):
            for caller in set(entry[4]) & set(functions):
                functions[caller] += entry[4][caller][3]
    shown = {f"`{Path(place[0]).relative_to(SOURCE)}:{place[2]}`": own for place, own in functions.items()}
    return [name, f"{total:.2f}", _largest(stages, SLOWEST, total), _largest(shown, SHOWN, total)]


def _largest(times: dict[str, float], count: int, total: float) -> str:
    names = sorted(times, key=lambda name: -times[name])[:count]
    return ", ".join(f"{name} {100 * times[name] / total:.0f}" for name in names)


def _is_at(place: Function, file: str, function: str) -> bool:
    return place[0] == str(SOURCE / file) and place[2] == function


def _is_ours(place: Function) -> bool:
    return place[0].startswith(str(SOURCE))
