"""A container of one's own: rows in several .npy files, of which one is in memory at a time."""

import tempfile
from pathlib import Path

import numpy as np

from gsppca import evidence_path, relaxed_vem
from gsppca.data import Matrix


class Files(Matrix):
    """The centred rows of some .npy files, one below the other."""

    def __init__(self, paths, mean=None, scale=None, kept=None):
        self.paths, self.kept = paths, kept
        n_all = np.load(paths[0], mmap_mode="r").shape[1]
        self._columns = np.arange(n_all) if kept is None else kept
        self.n_features = len(self._columns)
        self.column_scale = scale
        sums = [block.sum(axis=0) for block in self._raw()]
        self.n_samples = sum(len(np.load(path, mmap_mode="r")) for path in paths)
        self.mean = np.sum(sums, axis=0) / self.n_samples if mean is None else mean
        self.column_squares = np.sum([(block**2).sum(axis=0) for block in self._blocks()], axis=0)

    def _raw(self):
        for path in self.paths:
            yield np.load(path).astype(np.float64)[:, self._columns]

    def _blocks(self):
        """Centred and scaled blocks of rows."""
        for block in self._raw():
            yield (block - self.mean) * (1.0 if self.column_scale is None else self.column_scale)

    def _gram_product(self, axes):
        return sum((block @ axes.T).T @ block for block in self._blocks())

    def _gram(self):
        return sum(block.T @ block for block in self._blocks())

    def product(self, axes):
        return np.vstack([block @ axes.T for block in self._blocks()])

    def outer_gram(self):
        whole = np.vstack(list(self._blocks()))  # asked for only when there are few samples
        return whole @ whole.T

    def transposed_product(self, scores):
        total, start = 0.0, 0
        for block in self._blocks():
            total, start = total + scores[start : start + len(block)].T @ block, start + len(block)
        return total

    def reduce_radii(self, function, order, sizes, combine=np.add):
        result = None
        for block in self._blocks():
            squared = np.cumsum(block[:, order] ** 2, axis=1)[:, np.asarray(sizes) - 1].T
            part = function(np.ascontiguousarray(squared), slice(0, len(sizes)))
            result = part if result is None else combine(result, part)
        return result

    def row_squares(self):
        return np.concatenate([(block**2).sum(axis=1) for block in self._blocks()])

    @property
    def rows_come_together(self):
        return len(self.paths) == 1

    def columns(self, kept):
        scale = None if self.column_scale is None else self.column_scale[kept]
        return Files(self.paths, self.mean[kept], scale, self._columns[kept])

    def scaled(self, column_scale):
        scale = column_scale if self.column_scale is None else self.column_scale * column_scale
        return Files(self.paths, self.mean, scale, self._columns)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X = 0.3 * rng.standard_normal((120, 40))
    X[:, :6] += rng.standard_normal((120, 2)) @ rng.standard_normal((2, 6))
    X = X[:, rng.permutation(40)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{i}.npy" for i in range(3)]
        for path, rows in zip(paths, np.split(X, 3), strict=True):
            np.save(path, rows)
        data = Files(paths)
        fit, same = relaxed_vem(data, 2), relaxed_vem(X, 2)
        np.testing.assert_allclose(fit.relevance, same.relevance, rtol=1e-6, atol=1e-9)
        path = evidence_path(data, np.argsort(-fit.relevance), 2, 0.09)
        print("selected:", path.sizes[path.log_evidence.argmax()], "variables")
        np.testing.assert_allclose(
            path.log_evidence, evidence_path(X, np.argsort(-fit.relevance), 2, 0.09).log_evidence
        )
