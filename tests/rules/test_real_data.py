"""What the core promises on real data, it keeps on rows that it has not seen."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from gsppca.data import as_matrix
from gsppca.experiments.held_out import HeldOut, halves, standardised
from gsppca.rules.core import find_core


@pytest.fixture
def folder():
    """The directory of GSPPCA_DATA, or shared/data beside the repository."""
    beside = Path(__file__).parents[2].parent / "shared" / "data"
    found = Path(os.environ.get("GSPPCA_DATA") or beside)
    if not (found / "ufs").is_dir():
        pytest.skip("real data are neither in GSPPCA_DATA nor in ../shared/data: their tests are skipped")
    return found


@pytest.mark.parametrize(("name", "at_30"), [("ORL", 0.92), ("Yale", 0.90), ("warpPIE10P", 0.97)])
def test_the_share_holds_on_other_rows(folder, name, at_30):
    with np.load(folder / "ufs" / f"{name}.npz") as file:
        Z = standardised(file["X"])
    train, test = halves(len(Z), seed=0)
    judge = HeldOut(Z, train, test)
    found = find_core(as_matrix(Z[train]), np.ones(Z.shape[1], dtype=bool), judge.n_components)
    assert found.reached
    assert 10 <= found.size <= 50
    assert judge.share(found.core).weighted == pytest.approx(found.share, abs=0.03)
    assert judge.share(found.order[:30]).weighted > at_30
    random = np.random.default_rng(0).permutation(Z.shape[1])
    assert judge.share(found.order[:30]).weighted > judge.share(random[:30]).weighted + 0.02


def test_madelon_keeps_its_twenty(folder):
    """Four in five of the relevant variables of madelon repeat the others: a core of five predicts all components."""
    truth = [28, 48, 64, 105, 128, 153, 241, 281, 318, 336, 338, 378, 433, 442, 451, 453, 455, 472, 475, 493]
    with np.load(folder / "ufs" / "madelon.npz") as file:
        X = file["X"].astype(float)
    relevant = np.isin(np.arange(500), truth)
    found = find_core(as_matrix(X), relevant, 5)
    assert sorted(found.order) == truth
    assert found.size == 5
    assert found.share > 0.9
