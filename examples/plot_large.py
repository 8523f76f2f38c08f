"""Large data: time and memory of a fit as the samples grow, for dense and for sparse data.

Counts of 1000 words in n texts: eight topics raise the counts of 100 words. The dense matrix is read from a file
(numpy.memmap), the sparse one is in memory; neither is copied.
"""

import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
from scipy import sparse
from showing import BLUE, GREY, ORANGE, QUICK, plt, save, table

from gsppca import GSPPCA

P, Q, D = (200, 40, 4) if QUICK else (1000, 100, 8)
SIZES = (500, 1000) if QUICK else (2_000, 6_000, 20_000, 60_000)


def texts(n, seed=0):
    """Square roots of Poisson counts, one in twenty not zero, as a CSR matrix, and the words that carry topics."""
    rng = np.random.default_rng(seed)
    words = rng.permutation(P)[:Q]
    topics = np.zeros((D, P))
    topics[:, words] = 1.5 * (rng.random((D, Q)) < 0.25)
    blocks = []
    for start in range(0, n, 2000):
        mixture = rng.dirichlet(np.full(D, 0.3), min(2000, n - start))
        blocks.append(sparse.csr_matrix(np.sqrt(rng.poisson(0.04 + mixture @ topics)), dtype=np.float32))
    truth = np.zeros(P, dtype=bool)
    truth[words[topics[:, words].any(axis=0)]] = True
    return sparse.vstack(blocks, format="csr"), truth


def measured(X, method="joint"):
    """The fitted model, its seconds, and the megabytes that it held at most beyond X."""
    tracemalloc.start()
    start = time.perf_counter()
    model = GSPPCA(D, method=method, n_features_to_select=Q).fit(X)
    seconds = time.perf_counter() - start
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return model, seconds, peak


rows = []
seconds = {(container, method): [] for container in ("dense", "sparse") for method in ("joint", "paper")}
with tempfile.TemporaryDirectory() as folder:
    for n in SIZES:
        X, truth = texts(n)
        on_disk = np.memmap(Path(folder) / f"{n}.dat", dtype=np.float32, mode="w+", shape=(n, P))
        for start in range(0, n, 2000):
            on_disk[start : start + 2000] = X[start : start + 2000].toarray()
        sizes = {"dense": on_disk.nbytes, "sparse": X.data.nbytes + X.indices.nbytes + X.indptr.nbytes}
        supports = {}
        for (container, method), times in seconds.items():
            model, spent, peak = measured(on_disk if container == "dense" else X, method)
            supports[container, method] = model.support_
            times.append(spent)
            name = "dense, from a file" if container == "dense" else "sparse"
            found = f"{(model.support_ & truth).sum()} of {truth.sum()}"
            rows.append([f"{n:,}", name, method, f"{sizes[container] / 1e6:.0f}", f"{spent:.1f}", f"{peak:.0f}", found])
        for method in ("joint", "paper"):
            assert (supports["dense", method] == supports["sparse", method]).mean() > 0.99
header = [
    "texts",
    "container",
    "method",
    "data, MB",
    "fit, s",
    "memory beyond the data, MB",
    "true words among the first",
]
table("large", [*header[:-1], f"{header[-1]} {Q}"], rows)

figure, ax = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
for (container, method), times in seconds.items():
    colour, mark = (ORANGE, "o") if container == "dense" else (BLUE, "s")
    line = "-" if method == "joint" else "--"
    ax.loglog(SIZES, times, line, marker=mark, color=colour, label=f"{container}, {method}")
reference = np.array(SIZES) / SIZES[0] * min(times[0] for times in seconds.values())
ax.loglog(SIZES, reference, ":", color=GREY, label="proportional to n")
ax.set(xlabel="number of texts", ylabel="seconds of a fit", title=f"{P} words, {D} components")
ax.set_xticks(SIZES, [f"{n:,}" for n in SIZES])
ax.yaxis.set_major_formatter("{x:g}")
ax.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if str(value)[0] in "25" else "")
ax.xaxis.minorticks_off()
ax.legend(frameon=False)
save(figure, "large")
