"""SQUAREM: a linear map of one rate is extrapolated to its fixed point."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca.linalg.squarem import LONGEST, extrapolated, extrapolation_length, root_mean_square


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_one_rate_is_extrapolated_to_the_fixed_point(rate):
    fixed, start = np.array([1.0, -2.0]), np.array([3.0, 5.0])
    iterates = [fixed + rate**k * (start - fixed) for k in range(3)]
    length = extrapolation_length([(iterates, 7.0)])
    np.testing.assert_allclose(length, 1 / (1 - rate))
    np.testing.assert_allclose(extrapolated(iterates, length), fixed, atol=1e-12)


def test_lengths_have_bounds():
    still = [np.zeros(2)] * 3
    straight = [np.full(2, float(k)) for k in range(3)]
    back = [np.array([0.0]), np.array([1.0]), np.array([-3.0])]
    slow = [np.array([1.0]), np.array([0.999]), np.array([0.999**2])]
    assert extrapolation_length([(still, 1.0)]) == 1
    assert extrapolation_length([(straight, 1.0)]) == 1
    assert extrapolation_length([(back, 1.0)]) == 1
    assert extrapolation_length([(slow, 1.0)]) == LONGEST
    assert extrapolation_length([(slow, 1.0)], 5.0) == 5
    np.testing.assert_allclose(extrapolated(slow, 1.0), slow[2])


def test_groups_count_in_their_units():
    one = [np.array([x]) for x in (0.0, 1.0, 1.9)]
    other = [1e6 * np.array([x]) for x in (0.0, 1.0, 1.5)]
    np.testing.assert_allclose(extrapolation_length([(one, 1.0), (other, 1e6)]), np.sqrt(2 / (0.1**2 + 0.5**2)))
    np.testing.assert_allclose(root_mean_square(np.array([3.0, 4.0])), np.sqrt(12.5))
    assert root_mean_square(np.zeros(3)) == 1
