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


def measured(X):
    """The fitted model, its seconds, and the megabytes that it held at most beyond X."""
    tracemalloc.start()
    start = time.perf_counter()
    model = GSPPCA(D, n_features_to_select=Q, ranking="vem", evidence="noiseless").fit(X)
    seconds = time.perf_counter() - start
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return model, seconds, peak


rows, dense_seconds, sparse_seconds = [], [], []
with tempfile.TemporaryDirectory() as folder:
    for n in SIZES:
        X, truth = texts(n)
        on_disk = np.memmap(Path(folder) / f"{n}.dat", dtype=np.float32, mode="w+", shape=(n, P))
        for start in range(0, n, 2000):
            on_disk[start : start + 2000] = X[start : start + 2000].toarray()
        dense, seconds, peak = measured(on_disk)
        dense_seconds.append(seconds)
        rows.append([f"{n:,}", "dense, from a file", f"{on_disk.nbytes / 1e6:.0f}", f"{seconds:.1f}", f"{peak:.0f}"])
        size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 1e6
        model, seconds, peak = measured(X)
        sparse_seconds.append(seconds)
        rows.append([f"{n:,}", "sparse", f"{size:.0f}", f"{seconds:.1f}", f"{peak:.0f}"])
        assert (model.support_ == dense.support_).mean() > 0.99
        found = (model.support_ & truth).sum()
        print(f"{n} texts: {found} of {truth.sum()} words with a topic are among the {Q} selected")
table("large", ["texts", "container", "data, MB", "fit, s", "memory beyond the data, MB"], rows)

figure, ax = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
ax.loglog(SIZES, dense_seconds, "o-", color=ORANGE, label="dense, from a file")
ax.loglog(SIZES, sparse_seconds, "s-", color=BLUE, label="sparse")
reference = np.array(SIZES) / SIZES[0] * min(dense_seconds[0], sparse_seconds[0])
ax.loglog(SIZES, reference, ":", color=GREY, label="proportional to n")
ax.set(xlabel="number of texts", ylabel="seconds of a fit", title=f"{P} words, {D} components, all {P} sizes")
ax.set_xticks(SIZES, [f"{n:,}" for n in SIZES])
ax.yaxis.set_major_formatter("{x:g}")
ax.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if str(value)[0] in "25" else "")
ax.xaxis.minorticks_off()
ax.legend(frameon=False)
save(figure, "large")
