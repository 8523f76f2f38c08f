"""Modified Bessel functions of the second kind: log K and the ratio of neighbouring orders.

The evidence of a support needs, for orders up to half the number of variables, ``log K_nu(x)`` and

    w(x) = x K_{nu-1}(x) / K_nu(x),        dw/dlog x = w^2 + 2 nu w - x^2 > 0     (Riccati identity)

``K`` is positive, even in ``nu``, rises with ``|nu|`` and falls with ``x``. For every real order, ``w`` rises
with ``x``; ``K_{nu-1}/K_nu`` falls with ``nu`` and is 1 at ``nu = 1/2``.

Where we leave the textbook (DLMF 10.41, 10.29):

1. The uniform expansion is written in ``R = hypot(nu, x)`` and ``q = (nu/R)^2``, not in ``1/nu``, so that it
   also holds at ``nu = 0`` when ``x`` is large: two ranges, and no third for large arguments.
2. The logarithm of the sum is expanded, not the sum. With ``z = 1/R``,
   ``log K = nu asinh(nu/x) - R + log(pi/(2R))/2 + sum_k z^k l_k(q)``. Because ``x d/dx`` maps ``z^k q^i`` to
   ``-(k + 2i) (1 - q) z^k q^i``, the coefficients of ``l_k``, times ``k + 2i``, are those of ``m_k`` in
   ``w = x^2 [1/(R + nu) + z^2 (1/2 + sum_k z^k m_k(q))]``: no quotient of two sums, no cancellation.
3. ``nu asinh(nu/x) - R`` loses its digits where it vanishes, at ``x = 0.6627 nu``. The public functions take
   its difference from that zero, within ``2^-77 nu``: two terms of one sign. The block kernels do not (item 5).
4. Below ``R = 32.6`` we climb from the fractional part of the order with ``x K_{nu+1}/K_nu = 2 nu + w``: only
   positive terms, and no overflow, because the powers of ``x`` are kept apart.
5. The block kernels work in place and check nothing. Their absolute error in ``log K`` is a few roundings of
   ``R + nu asinh(nu/x)``, the change that a rounding of ``x`` and ``nu`` causes anyway.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

__all__ = ["block_workspace", "kv_ratio", "log_kv", "log_kv_and_ratio", "log_kv_block", "w_block"]

Array = NDArray[np.floating]

# l_k(q) for k = 1, 2, ...: coefficients of q^0 ... q^k. A test rebuilds them from the recurrence of the U_k.
# fmt: off
_LOG_SERIES = (
    (-0.125, 0.20833333333333334),
    (0.0625, -0.375, 0.3125),
    (-0.06510416666666667, 0.8296875, -1.7265625, 0.9592013888888888),
    (0.1015625, -2.21875, 8.296875, -10.59375, 4.4140625),
    (-0.2095703125, 6.982282366071429, -40.542751736111114, 87.693359375, -80.8837890625, 26.961263020833332),
    (0.5364583333333334, -25.3125, 209.625, -673.625, 1021.640625, -737.8125, 204.94791666666666),
    (-1.6380658830915178, 103.97592163085938, -1160.8294372558594, 5140.211273193359, -11304.659503173829,
     13184.767364501953, -7824.899444580078, 1863.07129632859),
    (5.809814453125, -477.615234375, 6904.2763671875, -40090.447265625, 119071.95263671875,
     -198321.806640625, 187801.9013671875, -94603.037109375, 19708.966064453125),
    (-23.475127749972874, 2427.2885336442428, -44069.78581237793, 323875.5657704671, -1240124.8821487427,
     2752869.211418152, -3683609.1391855874, 2935198.3014678955, -1284393.7849998474, 237850.70092589766),
    (106.467822265625, -13526.99560546875, 301187.0236816406, -2727462.591796875, 13026405.797363281,
     -36852414.786914065, 65112147.795410156, -72748886.00585938, 50027742.52075195, -19350359.06982422,
     3225059.844970703),
)
_W_SERIES = tuple(tuple((k + 2 * i) * c for i, c in enumerate(row)) for k, row in enumerate(_LOG_SERIES, 1))
# From _RADII[k] on, k terms leave an error below 4e-15: relative in w, and of max(1, |log K|) in log K.
_RADII = (5e12, 3.5e6, 4920.0, 1790.0, 270.0, 176.0, 87.6, 61.8, 47.3, 38.4, 32.6)

# fmt: on

# The root t of asinh(1/t) = sqrt(1 + t^2), its 26 leading bits, the rest, and sqrt(1 + t^2).
_ZERO, _ZERO_HEAD, _ZERO_TAIL = 0.6627434193491816, 0.662743404507637, 1.4841544557048961e-08
_ZERO_RADIUS = 1.1996786402577337
_TINY = 1e-300  # a smaller argument counts as zero
_HUGE, _UNIT = 2.0**960, 2.0**128  # from here on, order and argument are halved 128 times: no step may overflow
_CHUNK = 16_384  # elements that the public functions treat at a time, for the cache


def log_kv(order: ArrayLike, x: ArrayLike) -> Array:
    """Logarithm of the modified Bessel function of the second kind, ``log K_order(x)``.

    Parameters
    ----------
    order : array_like
        Real orders, of either sign.
    x : array_like
        Arguments, at least 0, broadcast against `order`. Below 1e-300 they count as 0.

    Returns
    -------
    ndarray or scalar of float64, of the broadcast shape
        Within ``1e-13 max(1, |log K|)`` of the exact value; ``inf`` at 0, ``-inf`` at infinity.

    Examples
    --------
    >>> round(float(log_kv(0.5, 1.0)), 12)  # log(pi/2)/2 - 1
    -0.774208647355
    """
    return log_kv_and_ratio(order, x)[0]


def kv_ratio(order: ArrayLike, x: ArrayLike) -> Array:
    """Ratio ``K_{order-1}(x) / K_order(x)``, within 1e-13 relative; its limits at 0 and infinity.

    Parameters, shapes and types are those of `log_kv`.
    """
    return log_kv_and_ratio(order, x)[1]


def log_kv_and_ratio(order: ArrayLike, x: ArrayLike) -> tuple[Array, Array]:
    """Both `log_kv` and `kv_ratio`, at the price of one. Parameters, shapes and types are those of `log_kv`."""
    nu, t = np.broadcast_arrays(np.asarray(order, dtype=np.float64), np.asarray(x, dtype=np.float64))
    if np.any(t < 0):
        raise ValueError(f"x must be at least 0, got {np.nanmin(t)}: K is not real there, check the sign.")
    if np.any(np.isinf(nu)):
        raise ValueError("order must be finite, got an infinite value: drop these elements first.")
    log_k, ratio = np.empty(nu.size), np.empty(nu.size)
    for start in range(0, nu.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        log_k[part], ratio[part] = _any_order(nu.flat[part], t.flat[part])
    return log_k.reshape(nu.shape)[()], ratio.reshape(nu.shape)[()]


def block_workspace(m: int, n: int) -> Array:
    """Buffers of shape (6, m, n) for the block kernels: one set per thread, ``work[:, :k]`` for k < m rows."""
    return np.empty((6, m, n))


def log_kv_block(order: Array, x: Array, work: Array | None = None) -> tuple[Array, Array]:
    """``log K`` and ``w`` on a block of rows of similar order, unchecked: the kernel of the evidence path.

    Parameters
    ----------
    order : ndarray of shape (m, 1)
        One order per row, of either sign.
    x : ndarray of shape (m, n)
        Arguments between 1e-300 and 1e150; not modified.
    work : ndarray of shape (6, m, n), optional
        Buffers from `block_workspace`. Blocks of 16,000 to 50,000 elements are fastest.

    Returns
    -------
    log_k, w : ndarray of shape (m, n)
        Views of `work`: the next call with the same buffers overwrites them.
    """
    return _block(order, x, work, with_log=True)


def w_block(order: Array, x: Array, work: Array | None = None) -> Array:
    """``w`` alone: less than half the price of `log_kv_block`, and all that a Newton step needs."""
    return _block(order, x, work, with_log=False)[1]


def _block(order: Array, x: Array, work: Array | None, with_log: bool) -> tuple[Array, Array]:
    """Body of the block kernels; without `with_log`, `log_k` holds nothing of use."""
    log_k, w, radius, z, q, spare = block_workspace(*x.shape) if work is None else work
    a = np.abs(order)
    with np.errstate(all="ignore"):
        np.multiply(x, x, out=radius)
        radius += a * a
        np.sqrt(radius, out=radius)
        lowest = float(radius.min())
        small = radius < _RADII[-1] if lowest < _RADII[-1] else None
        if small is None or not small.all():
            terms = sum(lowest < limit for limit in _RADII[:-1])
            np.divide(1.0, radius, out=z)
            np.multiply(z, a, out=q)
            q *= q
            _series(_W_SERIES[:terms], z, q, w, spare)
            w += 0.5
            w *= z
            w *= z
            np.add(radius, a, out=spare)
            np.divide(1.0, spare, out=spare)
            w += spare
            w *= x
            w *= x
            if with_log:
                _series(_LOG_SERIES[:terms], z, q, log_k, spare)
                np.add(radius, a, out=z)
                z /= x
                np.log(z, out=z)  # asinh(a/x) = log((a + R)/x)
                z *= a
                z -= radius
                log_k += z
                radius *= 2.0 / math.pi
                np.log(radius, out=radius)
                radius *= 0.5
                log_k -= radius
        if small is not None:
            t = x[small]
            log_k[small], ratio = _climb(np.broadcast_to(a, x.shape)[small], t)
            w[small] = t * ratio
    if order.min() < 0:
        w -= 2.0 * np.minimum(order, 0.0)  # K_{a+1}/K_a = K_{a-1}/K_a + 2a/x
    return log_k, w


def _series(rows: tuple[tuple[float, ...], ...], z: Array, q: Array, out: Array, spare: Array) -> None:
    """Write ``sum_k z^k rows[k-1](q)`` to `out`: Horner in `q` inside Horner in `z`, all in place."""
    if not rows:
        out.fill(0.0)
    inner = out
    for row in reversed(rows):
        np.multiply(q, row[-1], out=inner)
        for coefficient in row[-2:0:-1]:
            inner += coefficient
            inner *= q
        inner += row[0]
        if inner is spare:
            out += spare
        out *= z
        inner = spare


def _any_order(order: Array, x: Array) -> tuple[Array, Array]:
    """`log_kv_and_ratio` of flat arrays: sends each element the way it needs."""
    a = np.abs(order)
    with np.errstate(all="ignore"):
        log_k, ratio = a + x, a + x  # a nan in either stays
        zero, infinite = (x < _TINY) & ~np.isnan(a), np.isinf(x) & ~np.isnan(a)
        log_k[zero], ratio[zero] = np.inf, np.where(a[zero] < 0.5, np.inf, a[zero] == 0.5)
        log_k[infinite], ratio[infinite] = -np.inf, 1.0
        radius = np.hypot(a, x)
        terms = len(_RADII) - np.searchsorted(_RADII[::-1], radius, side="right")
        terms[zero | infinite | np.isnan(log_k)] = -1
        huge = np.flatnonzero((terms == 0) & ((a > _HUGE) | (x > _HUGE)))
        log_k[huge], ratio[huge] = _expand_huge(a[huge], x[huge])
        terms[huge] = -1
        for count in np.unique(terms[terms >= 0]):
            at = np.flatnonzero(terms == count)
            if count == len(_RADII):
                log_k[at], ratio[at] = _climb(a[at], x[at])
            else:
                log_k[at], ratio[at] = _expand(a[at], x[at], radius[at], int(count))
        negative = order < 0
        ratio[negative] += 2.0 * (a[negative] / x[negative])  # K_{a+1}/K_a = K_{a-1}/K_a + 2a/x
    return log_k, ratio


def _expand(a: Array, x: Array, radius: Array, terms: int) -> tuple[Array, Array]:
    """``log K_a`` and ``K_{a-1}/K_a`` by the uniform expansion."""
    z = 1.0 / radius
    q = (a * z) ** 2
    log_sum, w_sum, spare = np.empty_like(z), np.empty_like(z), np.empty_like(z)
    _series(_LOG_SERIES[:terms], z, q, log_sum, spare)
    _series(_W_SERIES[:terms], z, q, w_sum, spare)
    log_k = _exponent(a, x, radius) + (log_sum - 0.5 * np.log(radius * (2.0 / math.pi)))
    return log_k, x * (1.0 / (radius + a) + z * z * (0.5 + w_sum))


def _expand_huge(a: Array, x: Array) -> tuple[Array, Array]:
    """The same where hypot(a, x) may overflow: the exponent, homogeneous in both, is all that counts."""
    small = a * (np.log(a) - np.log(x) + (math.log(2.0) - 1.0))  # for arguments that the unit would make vanish
    a, t = a / _UNIT, x / _UNIT
    radius = np.hypot(a, t)
    return np.where(x < 1.0, small, _UNIT * _exponent(a, t, radius)), t / (radius + a)


def _exponent(a: Array, x: Array, radius: Array) -> Array:
    """Return ``a asinh(a/x) - hypot(a, x)`` as its difference from its zero, ``x = c = 0.6627 a``.

    ``R - hypot(a, c) = (x - c)(x + c)/(R + hypot(a, c))``, and the difference of two asinh is one log1p.
    """
    c = _ZERO * a
    # x - c with c beyond double precision: a product of 26 leading bits each is exact, and so is x minus it.
    head = 134217729.0 * a - (134217729.0 * a - a)
    away = (x - head * _ZERO_HEAD) - (head * _ZERO_TAIL + (a - head) * _ZERO)
    slope = (1.0 + (x + c) / (radius * _ZERO + x * _ZERO_RADIUS)) / (1.0 + _ZERO_RADIUS)
    ratio = -(away / x) * slope
    log = np.log1p(ratio)
    far = np.flatnonzero(ratio > 1e20)  # or infinite: the logarithm is then that of its parts
    log[far] = np.log(-away[far] * slope[far]) - np.log(x[far])
    return a * log - away * ((x + c) / (radius + a * _ZERO_RADIUS))


def _climb(a: Array, x: Array) -> tuple[Array, Array]:
    """``log K_a`` and ``K_{a-1}/K_a`` upwards from the fractional part of the order, for a and x below 33."""
    steps = a.astype(np.uint8)
    by_steps = np.argsort(steps, kind="stable")  # those that still climb are then a slice
    x, steps, mu = x[by_steps], steps[by_steps], (a - steps)[by_steps]
    scale, ratio = _fractional_order(mu, x)
    w, x2, up, twice = x * ratio, x * x, np.empty_like(x), 2.0 * mu
    first = np.searchsorted(steps, np.arange(steps[-1] + 1), side="right")
    for start in first[:-1]:
        above = up[start:]
        np.add(w[start:], twice[start:], out=above)  # x K_{nu+1}/K_nu = 2 nu + w
        np.multiply(scale[start:], above, out=scale[start:])
        np.divide(x2[start:], above, out=w[start:])
        np.add(twice[start:], 2.0, out=twice[start:])
    ratio[first[0] :] = x[first[0] :] / up[first[0] :]  # not w/x, which underflows
    back = np.empty_like(by_steps)
    back[by_steps] = np.arange(back.size)
    return (np.log(scale) - np.add(steps, 0.5, dtype=np.float64) * np.log(x) - x)[back], ratio[back]


def _fractional_order(mu: Array, x: Array) -> tuple[Array, Array]:
    """``sqrt(x) e^x K_mu(x)`` and ``K_{1-mu}(x)/K_mu(x)`` for 0 <= mu < 1 and x < 33."""
    k, ratio = np.full_like(x, math.sqrt(math.pi / 2)), np.ones_like(x)  # exact for mu = 1/2
    at = np.flatnonzero(mu == 0.0)
    k_0 = special.k0e(x[at])
    k[at], ratio[at] = np.sqrt(x[at]) * k_0, special.k1e(x[at]) / k_0
    rest, middle = (mu != 0.5) & (mu != 0.0), (x > 0.2) & (x <= 2.0)
    for route, chosen in ((_integral, rest & middle), (special.kve, rest & ~middle)):  # kve: 3e-13 up to 2
        at = np.flatnonzero(chosen)
        if not len(at):  # as always in the evidence, whose orders are multiples of 1/2
            continue
        k_mu = route(mu[at], x[at])
        k[at], ratio[at] = np.sqrt(x[at]) * k_mu, route(1.0 - mu[at], x[at]) / k_mu
    return k, ratio


def _integral(mu: Array, x: Array) -> Array:
    """``e^x K_mu(x) = int_0^inf exp(-x (cosh t - 1)) cosh(mu t) dt`` for 0.2 < x <= 2: error exp(-pi^2/step)."""
    step, total = 0.2, np.full_like(x, 0.5)
    for t in step * np.arange(1, 32):
        total += np.exp(-2.0 * np.sinh(t / 2) ** 2 * x) * np.cosh(t * mu)
    return step * total
