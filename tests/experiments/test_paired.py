"""The test behind the verdicts, against scipy, and what it calls a tie."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_rel

from gsppca.experiments.paired import Paired, holm, judge, paired
from gsppca.experiments.spec import FAILS, HOLDS, TIE
from tests.needs import optional

pd = optional("pandas")


def test_it_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    first, second = pd.Series(rng.standard_normal(20) + 0.5), pd.Series(rng.standard_normal(20))
    ours, theirs = paired(first, second), ttest_rel(first, second)
    assert ours.n == 20
    np.testing.assert_allclose([ours.t, ours.p], [theirs.statistic, theirs.pvalue], rtol=1e-12)
    np.testing.assert_allclose(ours.difference, first.mean() - second.mean())


def test_data_sets_are_matched_by_their_seed():
    first = pd.Series([1.0, 2.0, 4.0], index=[0, 1, 2])
    second = pd.Series([3.0, 1.0, 0.0], index=[2, 1, 0])
    assert paired(first, second) == paired(first, second.sort_index())
    assert paired(first, second.drop(0)).n == 2
    assert paired(first, second).difference == 1.0


@pytest.mark.parametrize(("values", "t", "p"), [([0.0, 0.0], 0.0, 1.0), ([3.0], 0.0, 1.0), ([2.0, 2.0], np.inf, 0.0)])
def test_constant_differences(values, t, p):
    found = paired(pd.Series(values), pd.Series(np.zeros(len(values))))
    assert (found.t, found.p) == (t, p)


def test_a_claim_needs_every_test_and_a_tie_is_a_tie():
    clear, unclear, contrary = Paired(50, 5.0, 6.0, 1e-6), Paired(50, 1.0, 0.4, 0.7), Paired(50, -5.0, -6.0, 1e-6)
    assert judge([clear, clear]) == HOLDS
    assert judge([clear, unclear]) == TIE
    assert judge([clear, unclear, contrary]) == FAILS
    assert judge([]) == FAILS


def test_holm_by_hand():
    np.testing.assert_allclose(holm([0.04, 0.01, 0.03]), [0.06, 0.03, 0.06])
    np.testing.assert_allclose(holm([0.9, 0.8]), [1.0, 1.0])
