"""Fits on a dask cluster, one worker of which is killed in the middle: does each end, and with the same bits?

    python -m benchmarks.kills --fits 50 --seconds 200

The fits run in a process of their own, on one cluster of two workers; the killed ones are replaced. At a random
pass over the data a random worker gets SIGKILL, a random time later up to that of a pass. A fit that takes longer than
allowed is a hang: its process writes where it stands, is ended, and another one goes on.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from itertools import count

import numpy as np

HEIGHT, WIDTH, BLOCKS = 100, 520, 6  # few rows: the core is chosen in rounds, two passes each
PASS = 0.05  # seconds that a pass takes, about
LOST = "dask did not replace the killed worker within 60 s: another cluster"


def make_block(block_id=None):
    """A block of rows that a worker makes for itself."""
    rng = np.random.default_rng(block_id[0])
    X = rng.standard_normal((HEIGHT, WIDTH))
    factors = np.random.default_rng(99).standard_normal((2, len(range(0, WIDTH, 10))))
    X[:, ::10] += rng.standard_normal((HEIGHT, 2)) @ factors
    return X


def fits(seed: int) -> None:
    """Fit and kill for ever; one line for each fit: the pass, the seconds, and whether the bits are those without."""
    import dask.array as da
    import distributed

    from gsppca import GSPPCA
    from gsppca.data.lazy import LazyBlocks

    faulthandler.register(signal.SIGUSR1, all_threads=True)
    rng = random.Random(seed)
    fold, state = LazyBlocks._fold, {"passes": 0, "kill at": -1}

    def killing(self, *arguments):
        state["passes"] += 1
        if state["passes"] == state["kill at"]:
            victim = rng.choice(sorted(client.run(os.getpid).values()))
            state["timer"] = threading.Timer(rng.uniform(0, PASS), os.kill, (victim, signal.SIGKILL))
            state["timer"].start()
        return fold(self, *arguments)

    LazyBlocks._fold = killing
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        X = da.map_blocks(make_block, chunks=((HEIGHT,) * BLOCKS, (WIDTH,)), dtype=float, meta=np.empty((0, 0)))
        wanted = GSPPCA(2).fit(X)
        n_passes = state["passes"]
        print("ready", n_passes, flush=True)
        for _ in count():
            state.update({"passes": 0, "kill at": rng.randint(1, n_passes)})
            start = time.perf_counter()
            model = GSPPCA(2).fit(X)
            seconds = time.perf_counter() - start
            state["timer"].join()
            same = all(
                np.array_equal(getattr(model, name), getattr(wanted, name))
                for name in ("relevance_", "components_", "ranking_", "mean_")
            )
            print(state["kill at"], f"{seconds:.1f}", "same" if same else "DIFFERENT", flush=True)
            try:
                client.wait_for_workers(2, timeout=60)
            except TimeoutError:
                print(LOST, flush=True)
                return


def lines_of(process: subprocess.Popen[str]) -> queue.Queue[str]:
    """What a process says, as it says it; an empty line at its end."""
    said: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            said.put(line.strip())
        said.put("")

    threading.Thread(target=listen, daemon=True).start()
    return said


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fits", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=200.0, help="after which a fit counts as hanging")
    parser.add_argument("--minutes", type=float, default=600.0, help="after which no other fit is begun")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        fits(options.seed)
        return
    times: list[float] = []
    failed = different = lost = attempt = 0
    until = time.monotonic() + 60 * options.minutes
    while len(times) + failed < options.fits and time.monotonic() < until:
        command = [sys.executable, "-m", "benchmarks.kills", "--child", "--seed", str(options.seed + attempt)]
        attempt += 1
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        said = lines_of(process)
        try:
            print(said.get(timeout=options.seconds), flush=True)
            while len(times) + failed < options.fits and time.monotonic() < until:
                line = said.get(timeout=options.seconds)
                if line == LOST:
                    lost += 1
                    print(line, flush=True)
                    break
                if not line:
                    raise queue.Empty
                print(len(times) + failed + 1, line, flush=True)
                times.append(float(line.split()[1]))
                different += line.endswith("DIFFERENT")
        except queue.Empty:
            failed += 1
            print("HANG or crash", flush=True)
            if process.poll() is None:
                process.send_signal(signal.SIGUSR1)
                time.sleep(2)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    print(f"{len(times)} of {len(times) + failed} fits ended, {different} with other bits; ", end="")
    print(f"{lost} workers not replaced after a fit; ", end="")
    print(f"seconds: median {np.median(times):.1f}, longest {max(times):.1f}" if times else "none ended")
    sys.exit(failed + different)


if __name__ == "__main__":
    main()
