"""log K and the ratio of neighbouring orders: ball arithmetic as the oracle, then the laws of the function."""

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

from gsppca.evidence import bessel
from gsppca.evidence.bessel import (
    block_workspace,
    kv_ratio,
    log_kv,
    log_kv_and_ratio,
    log_kv_block,
    w_block,
)

EPS = np.finfo(float).eps
SWITCH = bessel._RADII[-1]


def exact(order, x):
    """Return ``log K`` and ``K_{order-1}/K_order`` as balls of at least 80 good bits."""
    flint.ctx.prec = 128
    if abs(order) > 300 and x < 1:
        return exact_for_small_arguments(order, x)
    if math.hypot(order, x) > 1e6:
        return exact_for_large_radius(order, x)
    while True:
        nu, t = flint.arb(float(order)), flint.arb(float(x))
        k, below = t.bessel_k(abs(nu)), t.bessel_k(abs(nu - 1))
        if min(k.rel_accuracy_bits(), below.rel_accuracy_bits()) > 80:
            return k.log(), below / k
        flint.ctx.prec *= 2


def exact_for_small_arguments(order, x):
    # K = Gamma(nu)/2 (2/x)^nu sum_k (x^2/4)^k / (k! (1-nu)_k) up to relative (x/2)^(2 nu) (DLMF 10.27.4, 10.31.1):
    # a hundred times as fast as the general routine there, and 10 terms leave less than 1e-37.
    def log_k(nu):
        quarter, term, total = flint.arb(float(x)) ** 2 / 4, flint.arb(1), flint.arb(1)
        for k in range(1, 11):
            term *= quarter / (k * (k - nu))
            total += term
        return nu.lgamma() - flint.arb(2).log() + nu * (2 / flint.arb(float(x))).log() + total.log()

    nu = flint.arb(float(order))
    return log_k(abs(nu)), (log_k(abs(nu - 1)) - log_k(abs(nu))).exp()


def exact_for_large_radius(order, x):
    # The first five terms of the expansion leave 1e-37; their coefficients have a test of their own.
    nu, t = abs(flint.arb(float(order))), flint.arb(float(x))
    radius = (nu * nu + t * t).sqrt()
    log_k = nu * (nu / t).asinh() - radius + (flint.arb.pi() / (2 * radius)).log() / 2
    bracket = 1 / (radius + nu) + 1 / (2 * radius**2)
    for k, row in enumerate(bessel._LOG_SERIES[:5], start=1):
        for i, c in enumerate(row):
            term = c * (nu / radius) ** (2 * i) / radius**k
            log_k, bracket = log_k + term, bracket + (k + 2 * i) * term / radius**2
    return log_k, t * bracket + (2 * nu / t if order < 0 else 0)


def errors(order, x, log_k, ratio):
    """Largest error of log K, in units of max(1, |log K|), and largest relative error of the ratio."""
    worst = [0.0, 0.0]
    for nu, t, got_log, got_ratio in zip(order, x, log_k, ratio, strict=True):
        true_log, true_ratio = exact(nu, t)
        in_log = abs(float(true_log - float(got_log))) / max(1.0, abs(float(true_log)))
        in_ratio = abs(float(flint.arb(float(got_ratio)) / true_ratio - 1))
        worst = [max(worst[0], in_log), max(worst[1], in_ratio)]
    return worst


def on_circle(radius, angle):
    return radius * np.sin(angle), radius * np.cos(angle)


ZERO = 0.6627434193491816  # log K_nu(x) changes its sign near x = ZERO nu


# ------------------------------------------------------------------------------------------------ oracle


@pytest.mark.parametrize("kind", ["real", "integer", "half-integer", "negative"])
def test_full_range_against_ball_arithmetic(kind):
    rng = np.random.default_rng(0)
    order = np.concatenate([np.zeros(35), 10 ** rng.uniform(-4, 5, 465)])
    x = 10 ** rng.uniform(-8, 8, order.size)
    order = {
        "real": order,
        "integer": np.round(order),
        "half-integer": np.floor(order) + 0.5,
        "negative": -order,
    }[kind]
    in_log, in_ratio = errors(order, x, *log_kv_and_ratio(order, x))
    assert in_log < 1e-14
    assert in_ratio < 1e-14


@pytest.mark.parametrize("kind", ["real", "integer", "half-integer", "negative", "below one", "near an integer"])
def test_climbing_range_against_ball_arithmetic(kind):
    rng = np.random.default_rng(1)
    order, x = rng.uniform(0, 33, 1000), 10 ** rng.uniform(-8, 1.52, 1000)
    order = {
        "real": order,
        "integer": np.floor(order),
        "half-integer": np.floor(order) + 0.5,
        "negative": -order,
        "below one": order / 33,
        "near an integer": np.floor(order) + 1 + rng.choice([-1, 1], 1000) * 10 ** rng.uniform(-9, -2, 1000),
    }[kind]
    in_log, in_ratio = errors(order, x, *log_kv_and_ratio(order, x))
    assert in_log < 3e-14
    assert in_ratio < 1e-14


@pytest.mark.parametrize("terms", range(len(bessel._RADII)))
def test_each_number_of_terms_against_ball_arithmetic(terms):
    # Just above the radius from which this number of terms is used, where its error is largest; a third of the points
    # where log K is small.
    rng = np.random.default_rng(terms)
    radius = bessel._RADII[terms] * (1 + rng.uniform(1e-9, 1e-3, 105))
    angle = np.concatenate(
        [
            rng.uniform(0, np.pi / 2, 50),
            np.pi / 2 - 10 ** rng.uniform(-6, 0, 20),
            np.arctan(1 / ZERO) + (np.log(radius[:35]) / 4 + rng.uniform(-3, 3, 35)) / radius[:35],
        ]
    )
    order, x = on_circle(radius, angle)
    in_log, in_ratio = errors(order, x, *log_kv_and_ratio(order, x))
    assert in_log < 1e-14 + 2.0**-77 * radius.max()  # the second matters from 1e9 only
    assert in_ratio < 6e-15


def test_switch_of_method_against_ball_arithmetic():
    rng = np.random.default_rng(2)
    order, x = on_circle(rng.uniform(20, 40, 400), rng.uniform(0, np.pi / 2, 400))
    order[::3], order[1::3] = np.round(order[::3]), np.floor(order[1::3]) + 0.5
    in_log, in_ratio = errors(order, x, *log_kv_and_ratio(order, x))
    assert in_log < 3e-14
    assert in_ratio < 1e-14


def test_the_zero_of_log_k_costs_no_digits():
    # |log K| is below about 20 here, and the two terms of its leading part are near 1e5 each.
    rng = np.random.default_rng(3)
    order = 10 ** rng.uniform(1.6, 5, 300)
    order[:100] = np.round(2e5 * rng.uniform(0.5, 1, 100)) / 2
    x = ZERO * order + rng.uniform(-10, 10, order.size)
    log_k, ratio = log_kv_and_ratio(order, x)
    assert np.abs(log_k).max() < 30
    assert np.abs(log_k).min() < 0.1
    in_log, in_ratio = errors(order, x, log_k, ratio)
    assert in_log < 1e-14
    assert in_ratio < 1e-14


@pytest.mark.parametrize(
    ("order", "x"),
    [(0, 1e-8), (0, 1.0), (0.3, 1.9), (7, 0.5), (20.5, 25.0), (33, 1e-8), (200, 130.0), (1e5, 1e-8), (3, 1e8)],
)
def test_spot_values_against_mpmath(order, x):
    with mpmath.workdps(60):
        order, x = mpmath.mpf(order), mpmath.mpf(x)
        k = mpmath.besselk(order, x)
        true_log, true_ratio = mpmath.log(k), mpmath.besselk(order - 1, x) / k
        assert abs(log_kv(order, x) - true_log) < 1e-14 * max(1, abs(true_log))
        assert abs(kv_ratio(order, x) / true_ratio - 1) < 1e-14


def test_far_beyond_the_range_nothing_overflows():
    order = np.array([0.0, 0.25, 1.0, 32.0, 40.5, 1e5, 1e8, 1e8, 1e8, 2.0, 1e8])
    x = np.array([1e-300, 1e-300, 1e-300, 1e-300, 1e-300, 1e-300, 1e-300, 1.0, 6.6e7, 1e300, 1e100])
    log_k, ratio = log_kv_and_ratio(order, x)
    assert np.all(np.isfinite(log_k))
    assert np.all(np.isfinite(ratio))
    # K ~ Gamma(nu)/2 (2/x)^nu, and K_{nu-1}/K_nu ~ x/(2 nu - 2), for small x and nu > 1.
    small = [3, 4, 5, 6]
    expected = np.array([math.lgamma(v) - math.log(2) + v * math.log(2e300) for v in order[small]])
    np.testing.assert_allclose(log_k[small], expected, rtol=1e-13)
    np.testing.assert_allclose(ratio[small], x[small] / (2 * order[small] - 2), rtol=1e-13)
    np.testing.assert_allclose(log_k[0], math.log(300 * math.log(10) + math.log(2) - np.euler_gamma), rtol=1e-13)
    np.testing.assert_allclose(log_k[-2:], -x[-2:], rtol=1e-13)


@pytest.mark.parametrize(
    ("order", "x"),
    [(1e10, 1e-299), (1e308, 1e308), (1e307, 1e308), (1e308, 1e307), (1.79e308, 1.79e308), (1e150, 1e-250)]
    + [(1e300, 1e-300), (1e305, 0.5), (1e305, 2.0), (0.5, 1.7e308), (0.0, 1.7e308), (9.7e288, 1e289), (1e289, 1e-10)],
)
def test_where_sums_and_quotients_overflow_the_values_do_not(order, x):
    """log K = nu asinh(nu/x) - R + log(pi/(2R))/2 up to 1/(8R), and K_{nu-1}/K_nu = x/(R + nu) up to 1/R."""
    mpmath.mp.dps = 60
    nu, t = mpmath.mpf(order), mpmath.mpf(x)
    radius = mpmath.sqrt(nu**2 + t**2)
    wanted = nu * mpmath.asinh(nu / t) - radius + mpmath.log(mpmath.pi / (2 * radius)) / 2
    for sign in (1, -1):
        assert float(log_kv(sign * order, x)) == pytest.approx(float(wanted), rel=1e-13)
    if order < 1e100:
        return
    assert float(kv_ratio(order, x)) == pytest.approx(float(t / (radius + nu)), rel=1e-13, abs=5e-324)
    assert float(kv_ratio(-order, x)) == pytest.approx(float((radius + nu) / t), rel=1e-13)


def test_values_beyond_all_numbers_are_infinite():
    assert log_kv(1e308, 1e-299) == np.inf
    assert log_kv(1e308, 1e10) == np.inf
    assert kv_ratio(-1e308, 0.5) == np.inf


def test_coefficients_follow_from_the_recurrence_of_debye():
    # U_{k+1}(p) = p^2 (1 - p^2) U_k'(p)/2 + int_0^p (1 - 5 t^2) U_k(t) dt / 8; powers of p as keys (DLMF 10.41.9).
    terms = len(bessel._LOG_SERIES)
    series = [{0: Fraction(1)}]
    for _ in range(terms):
        following = {}
        for power, c in series[-1].items():
            for shift, factor in (
                (1, Fraction(power, 2) + Fraction(1, 8 * (power + 1))),
                (3, -Fraction(power, 2) - Fraction(5, 8 * (power + 3))),
            ):
                following[power + shift] = following.get(power + shift, 0) + c * factor
        series.append(following)
    # Logarithm of 1 + sum u_k z^k: k l_k = k u_k - sum_{j<k} j l_j u_{k-j}; u_k has the sign (-1)^k for K.
    u = [[(-1) ** k * series[k].get(k + 2 * i, Fraction(0)) for i in range(k + 1)] for k in range(terms + 1)]
    log = [[Fraction(0)]]
    for k in range(1, terms + 1):
        row = [k * c for c in u[k]]
        for j in range(1, k):
            for i, left in enumerate(log[j]):
                for h, right in enumerate(u[k - j]):
                    row[i + h] -= j * left * right
        log.append([c / k for c in row])
    assert bessel._LOG_SERIES == tuple(tuple(float(c) for c in row) for row in log[1:])


# -------------------------------------------------------------------------------------------------- laws


def law_points(seed, size=4000):
    rng = np.random.default_rng(seed)
    order = rng.choice([-1, 1], size) * 10 ** rng.uniform(-2, 5, size)
    order[::4] = np.round(2 * order[::4]) / 2
    return order, 10 ** rng.uniform(-8, 8, size)


def test_log_k_is_even_and_the_ratio_inverts_under_reflection():
    order, x = law_points(10)
    np.testing.assert_array_equal(log_kv(order, x), log_kv(-order, x))
    # K_{nu-1}/K_nu and K_{-nu}/K_{1-nu} are inverse; 1 - nu must be exact.
    order = np.round(order * 64) / 64
    np.testing.assert_allclose(kv_ratio(order, x) * kv_ratio(1 - order, x), 1, rtol=3e-14)


def test_recurrence_in_the_order():
    # K_{nu+1} = K_{nu-1} + (2 nu/x) K_nu, for positive nu, and both functions of one pair agree.
    order, x = law_points(11)
    order = np.round(np.abs(order) * 64) / 64
    up = 1 / kv_ratio(order + 1, x)
    np.testing.assert_allclose(up, kv_ratio(order, x) + 2 * order / x, rtol=3e-14)
    near, far = log_kv(order, x), log_kv(order + 1, x)
    room = 1e-14 * (2 + np.abs(near) + np.abs(far))
    assert np.all(np.abs(far - near - np.log(up)) < room)


@pytest.mark.parametrize("seed", [12, 13])
def test_riccati_identity_and_the_slope_of_log_k(seed):
    # Integrated over a short interval of log x by Gauss-Legendre, so that no difference quotient adds its noise:
    # d log K = -(w + nu) dlog x and dw = (w^2 + 2 nu w - x^2) dlog x.
    order, x = law_points(seed, 1500)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    width = 0.5 / (1 + (np.abs(order) + x) / 20)  # the slope of w is near R when x is
    t = x[:, None] * np.exp(width[:, None] * nodes / 2)
    nu = order[:, None]
    w = t * kv_ratio(nu, t)
    ends = np.stack([x * np.exp(-width / 2), x * np.exp(width / 2)])
    log_k, w_end = log_kv(order, ends), ends * kv_ratio(order, ends)
    slope = width / 2 * ((w + nu) @ weights)
    size = np.abs(log_k).max(0) + np.abs(order) + w_end[1]
    assert np.all(np.abs(log_k[1] - log_k[0] + slope) < 1e-14 * (1 + size))
    rise = width / 2 * ((w * w + 2 * nu * w - t * t) @ weights)
    # Both sides cancel: w^2 + 2 nu w against x^2, and the two ends of the interval.
    size = width * (w_end[1] ** 2 + np.abs(2 * order * w_end[1]) + ends[1] ** 2) + w_end[1]
    assert np.all(np.abs(w_end[1] - w_end[0] - rise) < 1e-14 * size)
    assert np.all((w_end[1] > w_end[0])[order > 0])


@pytest.mark.parametrize("n", [0, 1, 2, 5, 12, 30])
def test_half_integers_have_a_closed_form(n):
    # K_{n+1/2} = sqrt(pi/(2x)) e^-x sum_k (n+k)!/(k! (n-k)!) (2x)^-k, in exact rational arithmetic (DLMF 10.49.12).
    def tail(degree, x):
        f = math.factorial
        return sum(Fraction(f(degree + k), f(k) * f(degree - k)) / (2 * x) ** k for k in range(degree + 1))

    for x in (Fraction(1, 1024), Fraction(3, 4), Fraction(7), Fraction(29), Fraction(40), Fraction(5000)):
        expected = 0.5 * math.log(math.pi / (2 * x)) - float(x) + math.log(tail(n, x))
        assert abs(log_kv(n + 0.5, float(x)) - expected) < 3e-14 * max(1, abs(expected))
        below = tail(n - 1, x) if n else tail(0, x)
        np.testing.assert_allclose(kv_ratio(n + 0.5, float(x)), float(below / tail(n, x)), rtol=1e-14)


def test_monotone_in_the_argument_and_in_the_order():
    order = np.concatenate([-np.geomspace(500, 0.01, 150), [0.0], np.geomspace(0.01, 500, 150)])[:, None]
    x = np.geomspace(1e-3, 1e3, 400)
    log_k, ratio = log_kv_and_ratio(order, x)
    assert np.all(np.diff(log_k, axis=1) < 0)
    assert np.all(np.diff(log_k[150:], axis=0) > -1e-14 * (1 + np.abs(log_k[150:-1])))
    assert np.all(np.diff(x * ratio, axis=1) > 0)
    assert np.all(np.diff(ratio, axis=0) < 0)
    assert np.all((ratio < 1) == (order > 0.5))


# ----------------------------------------------------------------------------------------- block kernels


def rounding(order, x):
    """Return the roundings that `log_kv_block` is entitled to: those of its two leading terms."""
    a = np.abs(order)
    return 4 * EPS * (2 + np.hypot(a, x) + a * np.arcsinh(a / x))


@pytest.mark.parametrize("first", [-12.0, -1.5, 0.0, 3.5, 20.0, 33.0, 60.0, 170.0, 1000.0, 1e4, 1e5])
@pytest.mark.parametrize("spread", [0.01, 3.0])
def test_block_equals_the_public_functions(first, spread):
    rng = np.random.default_rng(20)
    order = first + np.arange(24)[:, None] / 2
    x = (1 + np.abs(order)) * np.exp(spread * rng.standard_normal((24, 70)))
    kept = x.copy()
    log_k, w = log_kv_block(order, x)
    expected_log, ratio = log_kv_and_ratio(order, x)
    np.testing.assert_array_equal(x, kept)
    assert log_k.shape == w.shape == x.shape
    assert np.all(np.abs(log_k - expected_log) <= rounding(order, x))
    np.testing.assert_allclose(w, x * ratio, rtol=1e-14)
    np.testing.assert_array_equal(w_block(order, x), w)


def test_block_near_the_zero_of_log_k_against_ball_arithmetic():
    rng = np.random.default_rng(21)
    order = np.array([[50.0], [2000.5], [1e5]])
    x = ZERO * order + rng.uniform(-3, 3, (3, 30))
    log_k, w = log_kv_block(order, x)
    allowed = rounding(order, x)
    for row, column in np.ndindex(x.shape):
        true_log, true_ratio = exact(order[row, 0], x[row, column])
        assert abs(float(true_log - float(log_k[row, column]))) < allowed[row, column]
        assert abs(float(float(w[row, column]) / (true_ratio * float(x[row, column])) - 1)) < 1e-14


def test_block_reuses_its_buffers_also_for_fewer_rows():
    rng = np.random.default_rng(22)
    order, x = 30 + np.arange(10)[:, None] / 2, rng.uniform(5, 60, (10, 40))
    work = block_workspace(10, 40)
    for rows in (10, 7, 1):
        got = log_kv_block(order[:rows], x[:rows], work[:, :rows])
        assert all(np.shares_memory(part, work) for part in got)
        for part, fresh in zip(got, log_kv_block(order[:rows], x[:rows]), strict=True):
            np.testing.assert_array_equal(part, fresh)


def test_blocks_in_two_threads_do_not_disturb_each_other():
    rng = np.random.default_rng(23)

    def run(job):
        return [part.copy() for part in log_kv_block(*job)]

    jobs = [(k / 2 + np.arange(8)[:, None] / 2, rng.uniform(1, 90, (8, 500))) for k in range(0, 160, 4)]
    alone = [run(job) for job in jobs]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(run, jobs))
    for one, two in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, two)


# ---------------------------------------------------------------------------------- arguments and shapes


def test_broadcasting_and_types():
    order, x = np.array([[0.0], [1.5], [400.0]]), np.array([0.5, 2.0, 30.0, 700.0])
    log_k, ratio = log_kv_and_ratio(order, x)
    assert log_k.shape == ratio.shape == (3, 4)
    assert log_k.dtype == ratio.dtype == np.float64
    for row, column in np.ndindex(3, 4):
        assert log_kv(order[row, 0], x[column]) == log_k[row, column]
        assert kv_ratio(order[row, 0], x[column]) == ratio[row, column]
    assert isinstance(log_kv(1, 2), np.float64)
    assert log_kv([1, 2], 3).shape == (2,)
    assert log_kv(np.float32(1.5), np.float32(2)).dtype == np.float64
    assert log_kv(np.empty((0, 3)), 1.0).shape == (0, 3)
    assert log_kv(np.array(2), np.array(3)) == log_kv(2.0, 3.0)


def test_many_elements_in_any_memory_order():
    order, x = law_points(30, 2 * bessel._CHUNK + 6)
    order, x = order.reshape(2, -1).T, x.reshape(-1, 2)
    log_k, ratio = log_kv_and_ratio(order, x)
    np.testing.assert_array_equal(log_k.T, log_kv(order.T, x.T))
    pick = np.random.default_rng(31).integers(len(x), size=40)
    np.testing.assert_array_equal(ratio[pick], kv_ratio(order[pick], x[pick]))


def test_limits_and_missing_values():
    inf, nan = np.inf, np.nan
    np.testing.assert_array_equal(log_kv([0, 0.5, -3, 500], 0.0), inf)
    np.testing.assert_array_equal(log_kv([0, 0.5, -3, 500], inf), -inf)
    np.testing.assert_array_equal(kv_ratio([-3, 0, 0.2, 0.5, 0.7, 1, 500], 0.0), [inf, inf, inf, 1, 0, 0, 0])
    np.testing.assert_array_equal(kv_ratio([-3, 0, 0.5, 500], inf), 1)
    for f in (log_kv, kv_ratio):
        np.testing.assert_array_equal(f([nan, 1, nan, nan, nan], [1, nan, nan, inf, 0]), nan)
        assert np.isfinite(f([nan, 1.0, 400.0], 2.0)).tolist() == [False, True, True]


@pytest.mark.parametrize("f", [log_kv, kv_ratio, log_kv_and_ratio])
def test_bad_arguments_are_named(f):
    with pytest.raises(ValueError, match=r"x must be at least 0, got -2\.0"):
        f(1.0, [1.0, -2.0, np.nan])
    with pytest.raises(ValueError, match="order must be finite"):
        f([1.0, np.inf], 1.0)
    with pytest.raises(ValueError, match="could not convert"):
        f("one", 1.0)
    with pytest.raises(ValueError, match="broadcast"):
        f(np.ones(2), np.ones(3))


def test_the_switch_between_routes_for_fractional_orders():
    """Arguments at 0.2 and 2 exactly, where one route hands over to the other."""
    flint.ctx.prec = 128
    orders = np.linspace(0.01, 0.99, 60)
    for x in (0.2, np.nextafter(0.2, 1), np.nextafter(2, 0), 2.0, np.nextafter(2, 3)):
        exact = [flint.arb(x).bessel_k(flint.arb(o) - 1) / flint.arb(x).bessel_k(flint.arb(o)) for o in orders.tolist()]
        np.testing.assert_allclose(kv_ratio(orders, x), [float(value) for value in exact], rtol=1e-13)
