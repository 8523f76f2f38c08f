"""Few rows of many columns on disk: few passes, and the answers of data in memory."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca import GSPPCA
from gsppca.data import as_blocks
from gsppca.metrics import f_score
from tests.needs import optional

N, P, D = 60, 4500, 3


def wide(q):
    """Columns of which `q` share three factors, and which."""
    rng = np.random.default_rng(0)
    X, members = rng.standard_normal((N, P)), np.zeros(P, dtype=bool)
    members[rng.permutation(P)[:q]] = True
    X[:, members] += rng.standard_normal((N, D)) @ rng.standard_normal((D, q))
    return X, members


@pytest.mark.parametrize(("n_components", "most"), [(D, 8), ("auto", 12)])
def test_a_whole_fit_takes_few_passes(n_components, most, monkeypatch):
    """A further group is looked for in noise, with no pass for each step."""
    monkeypatch.setattr("gsppca.evidence.supports.MANY", 4000)
    X, members = wide(60)
    wanted = GSPPCA(n_components).fit(X)
    monkeypatch.setattr("gsppca.data.blocks.HELD_BYTES", 0)
    blocks = as_blocks(optional("dask.array").from_array(X, chunks=(20, -1)))
    model = GSPPCA(n_components).fit(blocks)
    assert blocks.n_passes <= most
    assert f_score(model.relevant_, members) > 0.9
    np.testing.assert_array_equal(model.role_, wanted.role_)
    np.testing.assert_array_equal(model.ranking_, wanted.ranking_)
    np.testing.assert_allclose(model.components_, wanted.components_, atol=1e-8)
