"""Few rows of many columns on disk: few passes, and the answers of data in memory."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca import GSPPCA
from gsppca.data import as_blocks
from tests.needs import optional

N, P, D = 60, 9000, 3


@pytest.mark.filterwarnings("ignore::gsppca.MostVariablesWarning")
@pytest.mark.parametrize(("n_components", "most"), [(D, 12), ("auto", 13)])
def test_a_core_of_a_great_many_columns_takes_few_passes(n_components, most, monkeypatch):
    """All columns that its selections will look at are brought by one pass, and not read again."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, P)) + rng.standard_normal((N, D)) @ rng.standard_normal((D, P))
    wanted = GSPPCA(n_components).fit(X)
    monkeypatch.setattr("gsppca.data.blocks.HELD_BYTES", 0)
    blocks = as_blocks(optional("dask.array").from_array(X, chunks=(20, -1)))
    model = GSPPCA(n_components).fit(blocks)
    assert blocks.n_passes <= most
    np.testing.assert_array_equal(model.role_, wanted.role_)
    np.testing.assert_array_equal(model.ranking_, wanted.ranking_)
    np.testing.assert_allclose(model.components_, wanted.components_, atol=1e-8)
