"""Further groups: a weak factor beside strong ones is found, an accident of one sample is not."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca import GSPPCA
from gsppca.core.groups import is_carried_by_few, with_further_groups
from gsppca.core.joint_search import Found
from gsppca.core.state import EvidencePath, Ranking
from gsppca.data import as_matrix
from gsppca.datasets import make_model_selection, make_strengths
from gsppca.metrics import f_score

STRENGTHS = {"strengths": (3.0, 1.0, 0.6), "random_state": 0}


def joint(d, X, **parameters):
    return GSPPCA(d, evidence="joint", **parameters).fit(X)


@pytest.mark.parametrize("standardised", [False, True])
def test_a_weak_factor_beside_strong_ones_is_found(standardised):
    data = make_strengths(100, **STRENGTHS)
    X = data.X / data.X.std(axis=0) if standardised else data.X
    model, alone = joint(3, X), joint(3, X, refine=False)
    assert f_score(model.support_, data.support) > 0.92
    assert not standardised or (alone.support_ & data.support).sum() <= 22


def test_the_evidence_is_the_sum_of_that_of_the_groups():
    """Those left out, fitted alone, have the evidence that the curve gains beyond the first group."""
    data = make_strengths(100, **STRENGTHS)
    X = data.X / data.X.std(axis=0)
    model = joint(3, X, noise_variance="own")
    assert model.ranked_by_.endswith(", 2 groups")
    path, order = model.evidence_path_, np.argsort(model.ranking_)
    # The first group ends where dimensions jump: from there on both have theirs.
    for size in path.sizes[(path.sizes >= 18) & (path.sizes < model.n_selected_)]:
        rest = joint(1, X[:, np.sort(order[size:])], noise_variance="own")
        alone = rest.evidence_path_
        gain = alone.log_evidence[np.searchsorted(alone.sizes, rest.n_selected_)]
        first = path.log_evidence[np.searchsorted(path.sizes, size)]
        total = path.log_evidence[np.searchsorted(path.sizes, model.n_selected_)]
        if size + rest.n_selected_ == model.n_selected_ and np.isclose(first + gain, total, rtol=1e-9):
            break
    else:
        pytest.fail("no size splits the support in two groups whose evidences add up")


def test_permuting_columns_permutes_the_groups():
    data = make_strengths(100, **STRENGTHS)
    order = np.random.default_rng(1).permutation(200)
    np.testing.assert_array_equal(joint(3, data.X[:, order]).support_, joint(3, data.X).support_[order])


def test_what_the_fitted_model_says_is_consistent():
    data = make_strengths(100, **STRENGTHS)
    model = joint(3, data.X)
    order = np.argsort(model.ranking_)
    assert model.support_[order[: model.n_selected_]].all()
    assert (np.diff(model.relevance_[order]) <= 1e-9).all()
    assert (np.diff(model.evidence_path_.sizes) > 0).all()
    assert model.supported_


def test_outliers_in_one_sample_are_no_group():
    """Without the look at the tails of the factor, they would be: columns of t noise share their outliers."""
    added = []
    for seed in range(2):
        data = make_model_selection(66, noise="student", random_state=seed)
        model = joint(10, data.X)
        added.append("groups" in model.ranked_by_)
    assert not any(added)


def a_found(order, size, evidence, dimension=1):
    sizes = np.arange(2, len(order) + 1)
    path = EvidencePath(sizes, np.full(len(sizes), evidence), sizes * 1.0, sizes * 1.0, 0.0, np.ones_like(sizes))
    return Found(
        Ranking(np.asarray(order), np.linspace(1, 0.1, len(order)), "made", 1), path, size, 0.0, dimension, None
    )


def test_a_factor_of_one_sample_is_known_by_its_tails():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 8))
    spread, accident = X.copy(), X.copy()
    spread[:, :4] += 2 * rng.standard_normal((200, 1))
    accident[17, :4] += 30
    found = a_found(range(8), 4, 100.0)
    assert not is_carried_by_few(as_matrix(spread), found)
    assert is_carried_by_few(as_matrix(accident), found)


def test_the_search_ends_when_components_or_variables_run_out():
    matrix = as_matrix(np.random.default_rng(0).standard_normal((50, 8)))

    def never(kept, most):
        pytest.fail("nothing is left to look for")

    for found, most in (
        (a_found(range(8), 5, 100.0), 1),
        (a_found(range(8), 6, 100.0), 3),
        (a_found(range(8), 4, 0.1), 3),
    ):
        assert with_further_groups(found, matrix, most, never) is found
