"""Laws and oracles of the variational EM."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from gsppca import relaxed_vem
from gsppca.data import as_matrix
from gsppca.linalg.spectrum import leading_spectrum
from gsppca.progress import listening
from gsppca.rankings.vem import em, extrapolation
from gsppca.rankings.vem import update as updates
from gsppca.rankings.vem.em import em_step, relaxed_em
from gsppca.rankings.vem.extrapolation import extrapolate
from gsppca.rankings.vem.start import check_slab_rate, spectral_loadings, start_rates, start_state
from tests.reference import literal_vem

SHAPES = [(40, 25, 3), (15, 30, 4), (60, 8, 2), (30, 12, 1), (12, 20, 11)]


def data_of(factor_data, n, p, d, seed=0):
    return factor_data(seed, n=n, p=p, d=d, q=max(2, p // 3))[0]


def first_state(X, d, multiple=1.0, noise=0.2):
    matrix = as_matrix(X)
    loadings = spectral_loadings(leading_spectrum(matrix, d), noise)
    rate = multiple * np.sqrt(d * X.size / matrix.total_squares)
    return matrix, start_state(loadings, rate, noise)


@pytest.mark.parametrize(("n", "p", "d"), SHAPES)
def test_every_sub_update_raises_the_bound(factor_data, n, p, d):
    X = data_of(factor_data, n, p, d)
    rng = np.random.default_rng(1)
    full = literal_vem.start(X, rng.standard_normal((p, d)), slab_rate=0.8, noise_variance=0.5)
    value = literal_vem.bound(full)
    for _ in range(3):
        for update in literal_vem.SUB_UPDATES:
            full = update(full)
            new = literal_vem.bound(full)
            assert new >= value - 1e-9 * abs(value), update.__name__
            value = new


@pytest.mark.parametrize(("n", "p", "d"), SHAPES)
def test_a_step_is_the_literal_step(factor_data, n, p, d):
    """One pass, shared eigenbasis, elementwise updates: the same numbers as p matrices and loops."""
    X = data_of(factor_data, n, p, d)
    matrix, state = first_state(X, d)
    full = literal_vem.start(X, state.loading_mean.T, state.slab_rate, state.noise_variance)
    for _ in range(3):
        step = em_step(matrix, [state])[0]
        state = step.state
        for update in literal_vem.SUB_UPDATES:
            full = update(full)
        np.testing.assert_allclose(state.relevance, full.u, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(state.slab_rate**2, full.alpha2, rtol=1e-9)
        np.testing.assert_allclose(state.noise_variance, full.sigma2, rtol=1e-9)
        np.testing.assert_allclose(state.loading_mean.T, full.M, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(step.bound, literal_vem.bound(full), rtol=1e-11)
        summed = np.einsum("k,kij->ij", full.u**2, full.S)
        np.testing.assert_allclose(state.weighted_loading_cov, summed, rtol=1e-8, atol=1e-12)


def test_several_states_advance_as_each_alone(factor_data):
    X = data_of(factor_data, 40, 25, 3)
    matrix, slow = first_state(X, 3, multiple=0.5)
    _, fast = first_state(X, 3, multiple=2.0)
    together = em_step(matrix, [slow, fast])
    for step, state in zip(together, [slow, fast], strict=True):
        alone = em_step(matrix, [state])[0]
        np.testing.assert_allclose(step.state.relevance, alone.state.relevance, rtol=1e-12)
        np.testing.assert_allclose(step.bound, alone.bound, rtol=1e-13)


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize(("n", "p", "d"), SHAPES)
def test_the_bound_never_falls(factor_data, n, p, d, accelerate):
    X = data_of(factor_data, n, p, d)
    fit = relaxed_vem(X, d, tol=1e-9, max_iter=400, accelerate=accelerate)
    assert np.diff(fit.bounds).min() >= -1e-11 * abs(fit.bounds[-1])
    assert fit.bounds[-1] > fit.bounds[0]


def test_the_bound_stays_below_the_evidence():
    """With one sample-free direction left to integrate, the log evidence is a one-dimensional integral.

    For d = 1 and p = 2 the loadings (w_1, w_2) are integrated on a grid; given them, X is Gaussian.
    """
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, 1)) @ np.array([[1.0, -0.7]]) + 0.3 * rng.standard_normal((12, 2))
    X -= X.mean(axis=0)
    fit = relaxed_vem(X, 1, tol=1e-10)
    u, alpha, s2 = fit.relevance, fit.slab_rate, fit.noise_variance
    grid = np.linspace(-12, 12, 601) / alpha
    w1, w2 = np.meshgrid(grid, grid, indexing="ij")
    # log N(X | 0, a a' + s2 I) with a = u w, by the matrix determinant lemma, plus the log prior of w
    a = np.stack([u[0] * w1, u[1] * w2], axis=-1)
    length = s2 + (a**2).sum(axis=-1)
    quadratic = ((X**2).sum() - ((a @ X.T) ** 2).sum(axis=-1) / length) / s2
    log_terms = -0.5 * (quadratic + len(X) * (np.log(s2) + np.log(length) + 2 * np.log(2 * np.pi)))
    log_terms += np.log(alpha**2 / (2 * np.pi)) - 0.5 * alpha**2 * (w1**2 + w2**2)
    one = a[400, 250]
    literal = multivariate_normal(cov=np.outer(one, one) + s2 * np.eye(2)).logpdf(X).sum()
    prior = np.log(alpha**2 / (2 * np.pi)) - 0.5 * alpha**2 * (grid[400] ** 2 + grid[250] ** 2)
    np.testing.assert_allclose(log_terms[400, 250], literal + prior, rtol=1e-10)
    top = log_terms.max()
    evidence = top + np.log(np.exp(log_terms - top).sum() * (grid[1] - grid[0]) ** 2)
    assert fit.bounds[-1] < evidence
    assert evidence - fit.bounds[-1] < 5  # a useful bound, not just any number below


@pytest.mark.parametrize(("accelerate", "atol"), [(True, 1e-7), (False, 1e-12)])
def test_permuting_columns_permutes_the_answer(factor_data, accelerate, atol):
    X = data_of(factor_data, 40, 25, 3)
    permutation = np.random.default_rng(0).permutation(25)
    fit, permuted = (relaxed_vem(Z, 3, accelerate=accelerate) for Z in (X, X[:, permutation]))
    np.testing.assert_allclose(permuted.relevance, fit.relevance[permutation], atol=atol)


def test_permuting_and_rotating_rows_changes_nothing(factor_data):
    X = data_of(factor_data, 40, 25, 3)
    X -= X.mean(axis=0)
    fit = relaxed_vem(X, 3)
    # A rotation that keeps the vector of ones keeps the columns centred.
    basis = np.linalg.qr(np.column_stack([np.ones(40), np.random.default_rng(0).standard_normal((40, 39))]))[0]
    rotation = basis @ np.diag(np.r_[1.0, np.resize([1.0, -1.0], 39)]) @ basis.T
    rotated = relaxed_vem(rotation @ X, 3)
    np.testing.assert_allclose(rotated.relevance, fit.relevance, atol=1e-7)


@pytest.mark.parametrize("factor", [1e-60, 1e-3, 7.0, 1e60])
def test_scaling_the_data_scales_the_answer(factor_data, factor):
    X = data_of(factor_data, 40, 25, 3)
    fit, scaled = relaxed_vem(X, 3), relaxed_vem(factor * X, 3)
    np.testing.assert_allclose(scaled.relevance, fit.relevance, atol=1e-7)
    np.testing.assert_allclose(scaled.noise_variance, factor**2 * fit.noise_variance, rtol=1e-7)
    np.testing.assert_allclose(scaled.slab_rate, fit.slab_rate / factor, rtol=1e-7)
    assert scaled.n_iter == fit.n_iter
    shift = fit.bounds - scaled.bounds
    np.testing.assert_allclose(shift, X.size * np.log(factor), atol=1e-6 * abs(fit.bounds[-1]))


def test_rotating_the_start_changes_nothing(factor_data):
    X = data_of(factor_data, 40, 25, 3)
    matrix, state = first_state(X, 3)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    turned = start_state(turn @ state.loading_mean, state.slab_rate, state.noise_variance)
    for _ in range(20):
        state, turned = (step.state for step in em_step(matrix, [state, turned]))
    np.testing.assert_allclose(turned.relevance, state.relevance, atol=1e-10)


def test_acceleration_reaches_the_same_optimum_sooner(authors):
    X, d = authors["X"], int(authors["n_components"])
    start = {
        "noise_variance": float(authors["noise_sd_bias_corrected"]) ** 2,
        "slab_rate": float(authors["alpha_start"]),
        "slab_unit": "absolute",
    }
    fit = relaxed_vem(X, d, tol=1e-13, max_iter=30_000, **start)
    assert fit.converged
    np.testing.assert_allclose(fit.relevance, authors["relevance"], atol=1e-3)
    np.testing.assert_allclose(fit.slab_rate, authors["alpha"], rtol=1e-3)
    np.testing.assert_allclose(fit.noise_variance, authors["noise_sd_vem"] ** 2, rtol=1e-5)
    size = int(authors["size_bias_corrected"])
    order = np.argsort(-fit.relevance, kind="stable")[:size]
    # The same order among the selected, apart from pairs closer than either program's convergence.
    assert np.all(np.diff(authors["relevance"][order]) <= 1e-3)
    assert fit.n_iter < 150  # the authors' program took 4,000 to 20,000


def test_without_acceleration_the_authors_optimum_is_reached_too():
    with np.load("tests/reference/authors/one_axis.npz") as file:
        X, start = file["X"], float(file["alpha_start"])
        noise, relevance = float(file["noise_sd_bias_corrected"]) ** 2, file["relevance"]
    given = {"noise_variance": noise, "slab_rate": start, "slab_unit": "absolute", "accelerate": False}
    fit = relaxed_vem(X, 1, tol=1e-13, max_iter=20_000, **given)
    np.testing.assert_allclose(fit.relevance, relevance, atol=1e-3)


def test_the_random_start_ranks_the_same_variables_first(factor_data):
    X, support = factor_data(2, n=100, p=40, d=2, q=6)
    fit = relaxed_vem(X, 2, init="random", random_state=0)
    assert set(np.argsort(-fit.relevance)[:6]) == set(np.flatnonzero(support))


def test_a_variable_that_is_dead_stays_dead(factor_data):
    X = data_of(factor_data, 40, 25, 3)
    matrix, state = first_state(X, 3)
    relevance = state.relevance.copy()
    relevance[4] = 0.0
    state = replace(state, relevance=relevance)
    for _ in range(5):
        state = em_step(matrix, [state])[0].state
    assert state.relevance[4] == 0.0
    assert (state.relevance > 0).sum() == 24


def test_noise_collapses_and_says_so():
    X = np.random.default_rng(0).standard_normal((200, 4))
    fit = relaxed_vem(X, 1)
    assert fit.collapsed
    assert len(np.unique(fit.relevance)) == 4  # still an order, and no ties


def test_max_iter_is_respected(factor_data):
    X = data_of(factor_data, 40, 25, 3)
    for max_iter in (1, 3, 5, 6, 7, 8):
        fit = relaxed_vem(X, 3, tol=0, max_iter=max_iter)
        assert fit.n_iter == max_iter
        assert not fit.converged


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("case", ["few rows", "low rank", "wide low rank", "duplicates", "huge column"])
def test_the_bound_never_falls_where_everything_can_be_explained(case, accelerate):
    """The noise tends to zero, and rounding takes over: the run must stop at its best, not beyond."""
    rng = np.random.default_rng(0)
    X, d = {
        "few rows": (rng.standard_normal((4, 3000)), 3),
        "low rank": (rng.standard_normal((50, 3)) @ rng.standard_normal((3, 20)), 3),
        "wide low rank": (rng.standard_normal((100, 2)) @ rng.standard_normal((2, 300)), 2),
        "duplicates": (np.repeat(rng.standard_normal((40, 3)), 4, axis=1), 3),
        "huge column": (rng.standard_normal((100, 30)) * np.where(np.arange(30) == 3, 1e7, 1.0), 2),
    }[case]
    fit = relaxed_vem(X, d, accelerate=accelerate)
    assert np.diff(fit.bounds).min() >= 0
    assert np.isfinite(fit.relevance).all()


@pytest.mark.parametrize("factor", [1e-140, 1e104, 1e140, 1e150])
def test_extreme_units_change_nothing(factor_data, factor):
    X = data_of(factor_data, 40, 25, 3)
    np.testing.assert_allclose(relaxed_vem(factor * X, 3).relevance, relaxed_vem(X, 3).relevance, atol=1e-6)


def test_starts_advance_one_by_one_when_memory_is_dear(factor_data, monkeypatch):
    X = data_of(factor_data, 40, 25, 3)
    together = relaxed_vem(X, 3)
    monkeypatch.setattr("gsppca.rankings.vem.relaxed.TOGETHER", 10**9)
    alone = relaxed_vem(X, 3)
    np.testing.assert_allclose(alone.relevance, together.relevance, atol=1e-7)
    assert alone.n_iter == together.n_iter


@pytest.mark.parametrize("block", [1, 7, 64])
@pytest.mark.parametrize("noise_first", [False, True])
@pytest.mark.parametrize("expand", [False, True])
def test_a_step_in_blocks_of_columns_is_the_same_step(factor_data, monkeypatch, block, noise_first, expand):
    matrix, state = first_state(data_of(factor_data, 40, 25, 3), 3)

    def walk():
        states = [state]
        for _ in range(2):
            step = em_step(matrix, [states[-1]], noise_first, None, expand)[0]
            states.append(step.state)
        return em_step(matrix, [extrapolate(*states)], noise_first, None, expand)[0]

    whole = walk()
    for module in (updates, extrapolation):
        monkeypatch.setattr(module, "BLOCK", block)
    parts = walk()
    assert parts.bound == pytest.approx(whole.bound, rel=1e-12)
    for name, value in vars(whole.state).items():
        np.testing.assert_allclose(getattr(parts.state, name), value, rtol=1e-9, atol=1e-12)


def test_a_step_may_overwrite_its_working_memory_but_not_its_state(factor_data):
    matrix, state = first_state(data_of(factor_data, 40, 25, 3), 3)
    kept, wanted = state.loading_mean.copy(), em_step(matrix, [state])[0]
    axes = np.empty((1, *kept.shape))
    axes[0] = kept
    for used in (state, replace(state, loading_mean=axes[0])):
        found = em_step(matrix, [used], False, axes)[0]
        np.testing.assert_array_equal(found.state.loading_mean, wanted.state.loading_mean)
        np.testing.assert_array_equal(state.loading_mean, kept)
        axes[0] = kept


@pytest.mark.parametrize("noise", [1e-300, 1e-200, 1e-100, 1e-30])
def test_a_start_without_noise_is_one_with_what_rounding_leaves(factor_data, noise):
    X, _ = factor_data(0)
    fit, wanted = (relaxed_vem(X, 2, noise_variance=value) for value in (noise, 1e-20))
    assert len(fit.bounds)
    np.testing.assert_array_equal(fit.relevance, wanted.relevance)


@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_an_extrapolated_state_is_a_state(factor_data, way):
    """Steps that hardly shrink lead far: relevances stay between 0 and 1, and none is removed; the covariance is one;
    the rates go a factor of e^5 beyond the second step, and no further."""
    _, state = first_state(data_of(factor_data, 40, 25, 3), 3)
    p = state.loading_mean.shape[1]
    change = way * np.linspace(-0.1, 0.1, p)

    def moved(by):
        return replace(
            state,
            relevance=0.5 + by * change,
            weighted_loading_cov=np.diag(1 + 0.06 * by * np.array([-1.0, 0.0, 1.0])),
            slab_rate=float(np.exp(way * 0.5 * by)),
            noise_variance=float(np.exp(-way * 0.5 * by)),
        )

    second = moved(1.95)
    found = extrapolate(moved(0.0), moved(1.0), second)
    np.testing.assert_allclose(found.relevance, np.clip(0.5 + 20 * change, 0.01 * second.relevance, 1.0), rtol=1e-9)
    assert np.linalg.eigvalsh(found.weighted_loading_cov)[0] > 0
    np.testing.assert_array_equal(found.weighted_loading_cov, second.weighted_loading_cov)
    for name, sign in (("slab_rate", way), ("noise_variance", -way)):
        assert np.log(getattr(found, name) / getattr(second, name)) == pytest.approx(5 * sign)


def test_three_states_on_a_line_are_prolonged(factor_data):
    """Steps that shrink by a constant factor end where their sum ends: the extrapolation finds that point at once."""
    _, state = first_state(data_of(factor_data, 40, 25, 3), 3)
    d, p = state.loading_mean.shape
    rng = np.random.default_rng(1)
    change = {
        "relevance": rng.uniform(-0.05, 0.05, p),
        "loading_mean": 0.1 * rng.standard_normal((d, p)),
        "weighted_loading_cov": 0.1 * np.eye(d),
    }
    middle = replace(state, relevance=np.full(p, 0.5), weighted_loading_cov=2.0 * np.eye(d))
    for factor in (0.2, 0.5, 0.8):
        states = [
            replace(middle, **{name: getattr(middle, name) + way * step for name, step in change.items()})
            for way in (0.0, 1.0, 1.0 + factor)
        ]
        found = extrapolate(*states)
        for name, step in change.items():
            np.testing.assert_allclose(getattr(found, name), getattr(middle, name) + step / (1 - factor), rtol=1e-9)
        assert found.slab_rate == pytest.approx(state.slab_rate)


@pytest.mark.parametrize("accelerate", [True, False])
@pytest.mark.parametrize("max_iter", [1, 2, 3, 4, 5, 6, 7, 200])
def test_iterations_are_steps_and_none_is_forgotten(factor_data, monkeypatch, accelerate, max_iter):
    """The extrapolated ones count, and those before the start; an allowance is used up, and not exceeded."""
    matrix, state = first_state(data_of(factor_data, 40, 25, 3), 3)
    start, steps = em_step(matrix, [state])[0], [1]

    def counted(*arguments):
        steps.append(1)
        return em_step(*arguments)

    monkeypatch.setattr(em, "em_step", counted)
    given = {"n_done": 1, "bounds": [start.bound], "max_iter": max_iter, "tol": 1e-7}
    fit = relaxed_em(matrix, start, **given, accelerate=accelerate)
    assert fit.n_iter == len(steps)
    assert fit.converged or fit.n_iter == max_iter
    assert (np.diff(fit.bounds) >= 0).all()
    assert len(fit.bounds) <= fit.n_iter


def test_progress_tells_of_every_iteration(factor_data):
    """Those of the grid, with the best bound of its starts; then those of the one that goes on."""
    X, told = data_of(factor_data, 100, 25, 3), []
    with listening(lambda event: told.append((event.step, event.done))):
        fit = relaxed_vem(X, 3, tol=1e-7, short_iterations=4, accelerate=False)
    steps = [done for stage, done in told if stage == "start grid"]
    later = [done for stage, done in told if stage == "variational EM"]
    assert steps == [1, 2, 3, 4]
    assert later == list(range(5, fit.n_iter + 1))


def test_the_grid_is_a_decade_on_either_side_of_the_noise():
    grid = check_slab_rate("grid")
    np.testing.assert_allclose(np.log10(grid), [-1, 0, 1])
    np.testing.assert_allclose(start_rates(grid, "noise", 0.25, 3.0), [0.2, 2, 20])
    np.testing.assert_allclose(start_rates((0.5, 2.0), "data", 0.25, 3.0), [1.5, 6])
    np.testing.assert_allclose(start_rates((2.0,), "absolute", 0.25, 3.0), [2.0])


def test_starts_are_positive_numbers_or_sequences_of_them():
    for given, wanted in ((2, (2.0,)), (np.float32(0.5), (0.5,)), ((1, 2.5), (1.0, 2.5)), (np.array([3.0]), (3.0,))):
        assert check_slab_rate(given) == wanted
    for wrong in (True, (True,), 0, -1.0, (), np.empty(0), (1.0, 0.0), np.nan, np.inf, None, "auto", "1"):
        with pytest.raises(ValueError, match="slab_rate must be"):
            check_slab_rate(wrong)


def test_starts_are_within_a_million_of_what_is_usual():
    """Of the noise, or of the data; and never farther from the data than that."""
    for unit, usual in (("noise", 1.0), ("data", 1.0), ("absolute", 3.0)):
        for factor in (1e-6, 1e6):
            assert len(start_rates((factor * usual,), unit, 0.25, 3.0)) == 1
        for factor in (0.99e-6, 1.01e6, 1e-12):
            with pytest.raises(ValueError, match=r"slab_rate must be within a factor of 1e6 of"):
                start_rates((factor * usual,), unit, 0.25, 3.0)
    assert start_rates((0.1, 1.0, 10.0), "noise", 1e-20, 3.0) == [3e6]  # all the same: tried once
    assert start_rates((0.1, 1.0, 10.0), "noise", 1e20, 3.0) == [3e-6]


@pytest.mark.parametrize("memory", ["plenty", "dear"])
@pytest.mark.parametrize("seed", [1, 2])
def test_of_runs_that_all_collapse_the_best_is_kept(seed, memory, monkeypatch):
    """And one that does not collapse is kept before them, whatever their bounds; also if it has to be made again."""
    monkeypatch.setattr("gsppca.rankings.vem.relaxed.TOGETHER", 0 if memory == "plenty" else 10**9)
    X = np.random.default_rng(seed).standard_normal((40, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = {rate: relaxed_vem(X, 2, slab_rate=rate) for rate in (0.3, 1.0, 10.0)}
        collapsed = relaxed_vem(X, 2, slab_rate=(0.3, 10.0))
        survivor = relaxed_vem(X, 2, slab_rate=(0.3, 1.0, 10.0))
    assert [fit.collapsed for fit in alone.values()] == [True, False, True]
    assert collapsed.collapsed
    assert collapsed.bounds[-1] == pytest.approx(max(alone[0.3].bounds[-1], alone[10.0].bounds[-1]), rel=1e-12)
    assert not survivor.collapsed
    assert survivor.bounds[-1] == pytest.approx(alone[1.0].bounds[-1], rel=1e-12)
    assert survivor.bounds[-1] < collapsed.bounds[-1]
