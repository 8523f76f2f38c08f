"""A competitor of one's own: rank the variables by kurtosis, and keep those beyond a threshold."""

import numpy as np

from gsppca.baselines import Baseline
from gsppca.baselines.base import Selection
from gsppca.baselines.linalg import principal_axes
from gsppca.baselines.path import nested_path


class KurtosisRanking(Baseline):
    """Keep variables whose fourth moment is far from that of Gaussian noise."""

    def __init__(self, n_components=2, n_features_to_select="auto", threshold=1.0, random_state=None):
        self.n_components = n_components
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.random_state = random_state

    def _select(self, data, size):
        # data.matrix is centred, its columns shuffled: nothing can depend on their order.
        variances = data.squares / data.n_samples
        excess = np.abs((data.matrix**4).mean(axis=0) / np.where(variances > 0, variances, 1) ** 2 - 3)
        if size is None:  # the method's own rule
            size = int(np.count_nonzero(excess > self.threshold))
        order = data.order(excess)  # largest first; ties by the sums of squares
        support = np.zeros(data.n_features, dtype=bool)
        support[order[:size]] = True
        return Selection(
            support=support,
            order=order,
            components=principal_axes(data.matrix, support, self.n_components),
            path=nested_path(order, excess, size, "excess kurtosis of the last variable"),
        )


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 20))
    X[:, [4, 9]] = rng.laplace(size=(500, 2))
    model = KurtosisRanking().fit(X)
    print("selected:", model.get_support(indices=True))
    assert set(model.get_support(indices=True)) == {4, 9}
