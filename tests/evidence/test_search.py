"""The joint search: laws that hold for any data, and truths that it must find."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from gsppca.components.units import share_units
from gsppca.data import as_blocks, as_matrix
from gsppca.datasets import make_noise, make_noise_range, make_strengths
from gsppca.evidence import by_products, moves, search, supports
from gsppca.evidence import decompose as decomposing
from gsppca.evidence.moves import falls_behind
from gsppca.evidence.path import evidence_along
from gsppca.evidence.search import ODDS, find_support, standardised
from gsppca.metrics import f_score
from tests.needs import optional

REAL = Path(os.environ.get("GSPPCA_DATA") or Path(__file__).parents[3] / "shared" / "data") / "ufs"
UNITS = pytest.mark.parametrize("own_noise", [True, False], ids=["own noise", "common units"])


def order_of(found):
    """All variables: group after group, then the others, each by falling log odds."""
    last = np.where(found.groups > 0, found.groups, found.groups.max() + 1)
    return np.lexsort((-found.log_odds, last))


@pytest.fixture(scope="module")
def data():
    return make_noise_range(0.3, n_samples=60, n_features=80, n_components=4, random_state=1)


def fit(X, own_noise=True, most=6, **options):
    return find_support(as_matrix(X), most, own_noise=own_noise, **options)


def same(one, other, columns=slice(None), rtol=1e-9):
    np.testing.assert_array_equal(one.support[columns], other.support)
    np.testing.assert_array_equal(one.groups[columns], other.groups)
    np.testing.assert_allclose(one.log_evidence, other.log_evidence, rtol=rtol)
    np.testing.assert_allclose(one.log_odds[columns], other.log_odds, rtol=1e-5, atol=1e-6)
    assert one.n_components == other.n_components


@UNITS
def test_order_of_rows_and_columns_is_nothing(data, own_noise):
    rng = np.random.default_rng(0)
    found = fit(data.X, own_noise)
    columns = rng.permutation(80)
    same(found, fit(data.X[:, columns], own_noise), columns)
    same(found, fit(data.X[rng.permutation(60)], own_noise))


@UNITS
def test_signs_units_memory_and_jitter_are_nothing(data, own_noise):
    rng = np.random.default_rng(1)
    found = fit(data.X, own_noise)
    same(found, fit(np.asfortranarray(data.X), own_noise))
    same(found, fit(data.X * rng.choice([-1, 1], 80), own_noise))
    same(found, fit(data.X * 1e-7 + 3, own_noise), rtol=1e-7)
    same(found, fit(data.X * (1 + 1e-12 * rng.standard_normal(data.X.shape)), own_noise))
    if own_noise:
        same(found, fit(data.X * np.exp(rng.standard_normal(80)), own_noise))


@UNITS
def test_rows_may_be_rotated(data, own_noise):
    """Nothing but the Gram matrix counts; a rotation that keeps the mean is none of its concern."""
    rng = np.random.default_rng(2)
    basis = np.linalg.qr(np.column_stack([np.ones(60), rng.standard_normal((60, 59))]))[0]
    turn = np.linalg.qr(rng.standard_normal((59, 59)))[0]
    rotation = basis[:, 1:] @ turn @ basis[:, 1:].T
    same(fit(data.X, own_noise), fit(rotation @ data.X, own_noise))


@UNITS
def test_copies_share_their_fate(data, own_noise):
    X = np.hstack([data.X, data.X[:, ::3]])
    found = fit(X, own_noise)
    np.testing.assert_array_equal(found.groups[80:], found.groups[:80:3])
    np.testing.assert_allclose(found.log_odds[80:], found.log_odds[:80:3], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(30, 90), (90, 30), (20, 530)], ids=str)
@UNITS
def test_containers_agree(shape, own_noise):
    rng = np.random.default_rng(shape[0])
    X = rng.standard_normal(shape) * (rng.random(shape) < 0.5)
    X[:, :8] += 4 * rng.standard_normal((shape[0], 1)) * (rng.random((shape[0], 1)) < 0.7)
    found = fit(X, own_noise)
    assert found.supported
    same(found, fit(sparse.csr_matrix(X), own_noise))
    same(found, fit(sparse.csc_array(X), own_noise))
    array = optional("dask.array")
    same(found, fit(array.from_array(X, chunks=(shape[0] // 3 + 1, -1)), own_noise))


def test_a_gram_matrix_that_is_there_is_used_again(data):
    matrix = as_matrix(data.X[:, :30])
    np.testing.assert_allclose(matrix.gram.diagonal(), matrix.column_squares)
    scaled = standardised(matrix)
    assert scaled.gram_is_known
    np.testing.assert_allclose(scaled.gram, scaled._gram(), atol=1e-9)


@UNITS
def test_the_truth_is_found_and_is_probable(own_noise):
    data = make_noise_range(2.0, n_samples=100, random_state=0)
    found = fit(data.X, own_noise, most=10)
    np.testing.assert_array_equal(found.support, data.support)
    assert found.supported
    assert found.inclusion_probability[data.support].min() > 0.9
    assert found.inclusion_probability[~data.support].max() < 0.5


def test_weak_factors_are_groups_of_their_own():
    data = make_strengths(n_samples=100, random_state=0)
    found = fit(data.X, most=data.n_components)
    assert found.groups.max() >= 2
    assert (found.support == data.support).mean() > 0.97
    assert found.n_components == sum(found.group_components) <= data.n_components
    assert len(fit(data.X, most=data.n_components, max_groups=1).group_components) == 1


@pytest.mark.parametrize("shape", [(30, 5), (30, 8), (50, 200), (20, 600)], ids=str)
@UNITS
def test_noise_is_unsupported(shape, own_noise):
    for seed in range(8):
        X = make_noise(*shape, random_state=seed).X
        found = fit(X, own_noise, most=5)
        assert not found.supported
        assert found.inclusion_probability.max() < 0.2


def test_the_evidence_pays_the_price(data):
    found = fit(data.X)
    assert found.supported == (found.log_evidence > found.log_price)
    assert found.log_price > np.log(ODDS)


def test_hotter_is_more_doubtful(data):
    cool, hot = fit(data.X, max_groups=1), fit(data.X, temperature=4.0, max_groups=1)
    assert hot.log_evidence < cool.log_evidence / 2
    assert hot.support.sum() <= cool.support.sum()


def test_components_can_be_fixed(data):
    found = fit(data.X, most=6, fixed_components=True)
    assert found.n_components == min(6, found.support.sum() - 1)
    assert found.groups.max() == 1


@UNITS
def test_the_path_goes_through_what_was_found(own_noise):
    data = make_strengths(n_samples=100, random_state=1)
    matrix = as_matrix(data.X)
    found = find_support(matrix, data.n_components, own_noise=own_noise)
    sizes = np.bincount(found.groups)[1:]
    assert set(order_of(found)[: sizes.sum()]) == set(np.flatnonzero(found.support))
    ends = np.cumsum(sizes)
    wanted = np.unique(np.r_[2, 5, ends, 60])
    path = evidence_along(
        matrix,
        order_of(found),
        wanted,
        data.n_components,
        own_noise,
        group_sizes=sizes.tolist(),
        units=found.group_units,
    )
    np.testing.assert_array_equal(path.sizes, wanted)
    at = np.searchsorted(path.sizes, ends[-1])
    np.testing.assert_allclose(path.log_evidence[at], found.log_evidence, rtol=1e-9)
    assert path.dimensions[at] == found.n_components
    alone = evidence_along(matrix, order_of(found), wanted, data.n_components, own_noise, units=found.group_units[:1])
    np.testing.assert_allclose(
        alone.log_evidence[: np.searchsorted(wanted, sizes[0]) + 1],
        path.log_evidence[: np.searchsorted(wanted, sizes[0]) + 1],
    )


def test_the_path_knows_temperature_and_fixed_components(data):
    matrix = as_matrix(data.X)
    for options in ({"temperature": 3.0}, {"fixed_components": True}):
        found = find_support(matrix, 5, own_noise=True, max_groups=1, **options)
        path = evidence_along(matrix, order_of(found), np.array([found.support.sum()]), 5, True, **options)
        np.testing.assert_allclose(path.log_evidence, found.log_evidence, rtol=1e-9)
        assert path.dimensions == found.n_components


@pytest.mark.parametrize("n", [2, 3, 4])
@UNITS
def test_few_samples(n, own_noise):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 7))
    columns = rng.permutation(7)
    one, other = fit(X, own_noise), fit(X[:, columns], own_noise)
    same(one, other, columns)
    assert np.isfinite(one.log_evidence)
    assert one.support.any()


@UNITS
def test_exact_low_rank(own_noise):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 12))
    columns = rng.permutation(12)
    one, other = fit(X, own_noise), fit(X[:, columns], own_noise)
    np.testing.assert_array_equal(one.support[columns], other.support)
    assert one.supported


def test_one_huge_column_in_common_units(data):
    X = data.X.copy()
    X[:, 11] *= 1e6
    found = fit(X, own_noise=False)
    assert np.isfinite(found.log_evidence)
    assert found.support[11]
    columns = np.random.default_rng(0).permutation(80)
    np.testing.assert_array_equal(found.support[columns], fit(X[:, columns], own_noise=False).support)


def test_progress_counts_supports(data):
    told = []
    fit(data.X, progress=told.append)
    assert told[0] == 1
    assert len(told) > 10


@pytest.mark.parametrize("name", ["lymphoma", "ORL", "Isolet", "TOX-171"])
def test_real_data_in_any_order(name):
    path = REAL / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    X = np.load(path)["X"].astype(float)
    matrix = as_matrix(X)
    own = not share_units(matrix.column_squares, matrix.n_samples)
    rng = np.random.default_rng(0)
    found = fit(X, own, most=20)
    columns = rng.permutation(X.shape[1])
    same(found, fit(np.asfortranarray(X[:, columns]), own, most=20), columns)
    jitter = 1 + 1e-12 * rng.standard_normal(X.shape)
    same(found, fit((X * jitter)[rng.permutation(len(X))], own, most=20))


def test_madelon_exactly():
    path = REAL / "madelon.npz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    found = fit(np.load(path)["X"].astype(float), most=13)
    assert found.support.sum() == 20
    assert found.n_components == 5


def test_few_variables_need_one_pass():
    """Means, then one Gram matrix; and a look at the scores for each further group that is supported."""
    array = optional("dask.array")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 40))
    X[:, :9] += rng.standard_normal((300, 1))
    matrix = as_matrix(array.from_array(X, chunks=(50, -1)))
    before = matrix.X.n_passes
    found = find_support(matrix, 4, own_noise=True)
    assert found.supported
    assert found.groups.max() == 1
    assert matrix.X.n_passes == before + 1


def test_both_of_two_copies_are_found():
    """One of them is exchanged for the other by a walk: each is explained by the other alone."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 12))
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=60)
    X[:, 3] = -X[:, 2] + 0.1 * rng.normal(size=60)
    np.testing.assert_array_equal(np.flatnonzero(fit(X, most=2).support), [0, 1, 2, 3])


@pytest.mark.parametrize(("n", "p", "n_different"), [(165, 300, 80), (60, 150, 20), (300, 200, 30)])
def test_exact_copies_in_any_order(n, p, n_different):
    """Fewer dimensions than components are looked for: eigenvalues that are rounding are none."""
    rng = np.random.default_rng(0)
    bits, shared = rng.random((n, n_different)) < 0.1, rng.random((n, 4)) < 0.5
    bits = np.where(rng.random(bits.shape) < 0.7, shared[:, rng.integers(0, 4, n_different)], bits)
    X = bits[:, rng.integers(0, n_different, p)].astype(float)
    found = fit(X, most=35)
    assert found.supported
    for seed in range(3):
        rng = np.random.default_rng(seed)
        columns = rng.permutation(p)
        same(found, fit(X[rng.permutation(n)][:, columns], most=35), columns)


def test_a_walkfalls_behind_when_its_rises_add_up_to_less():
    """Rises of 20, 10, 5, ... from here on add up to 10."""
    assert falls_behind(10.1, 10.0, 20.0)
    assert not falls_behind(9.9, 10.0, 20.0)
    assert not falls_behind(1e6, 10.0, np.inf)  # after one step nothing is known of what follows
    assert not falls_behind(1e6, 20.0, 10.0)  # nor where rises grow


def eliminated(X, monkeypatch, most=6, **constants):
    """What the eliminations of the first group come through, and what is found."""
    for name, value in constants.items():
        monkeypatch.setattr(moves, name, value)
    ways = []

    def recorded(*given, **options):
        ways.append(eliminate(*given, **options))
        return ways[-1]

    eliminate = search.eliminate
    monkeypatch.setattr(search, "eliminate", recorded)
    found = fit(X, most=most, max_groups=1)
    monkeypatch.undo()
    return found, ways


def test_eliminations_that_meet_go_on_as_one(monkeypatch):
    """Where the second comes to 97 % of the variables of one of the first's supports, it is that support: no worse."""
    n_shared, n_same = 0, 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        signal = rng.normal(size=(150, 3)) @ rng.normal(size=(3, 200)) * (np.arange(200) < 120)
        X = signal + rng.normal(size=(150, 200))
        found, (first, second, *_) = eliminated(X, monkeypatch)
        apart, (before, after, *_) = eliminated(X, monkeypatch, ALIKE=0.0)
        shared = {id(one) for one in first} & {id(one) for one in second}
        n_shared += len(shared)
        n_same += len({id(one) for one in before} & {id(one) for one in after})
        assert found.log_evidence >= apart.log_evidence - 0.01 * abs(apart.log_evidence)
        for one in second:
            assert id(one) in shared or all(np.sum(one.members ^ other.members) > 0.06 * one.size for other in first)
    assert n_shared > n_same


def test_an_elimination_ends_when_much_is_lost(monkeypatch):
    """15 % of its best value, and 500 nats: never before."""
    rng, n_ended = np.random.default_rng(0), 0
    signal = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 60))
    for noise in (0.5, 2.0, 3.0, 4.0):
        _, ways = eliminated(signal + noise * rng.normal(size=(300, 60)), monkeypatch)
        for way in ways:
            values = np.array([one.value for one in way])
            best = np.maximum.accumulate(values)
            ended = (best > 0) & (best - values > np.maximum(0.15 * best, 500.0))
            assert not ended[:-1].any()
            assert ended[-1] or way[-1].size <= moves.FEWEST
            n_ended += ended[-1]
    assert n_ended > 0


@pytest.mark.parametrize(("p", "seed"), [(2000, 3), (2000, 42), (5000, 24)])
def test_few_variables_are_found_behind_a_support_of_noise(p, seed):
    """Among thousands of variables some hundred of noise have evidence too; it falls before it rises to its summit."""
    data = make_noise_range(100 / p, 50, p, n_components=5, random_state=seed)
    found = fit(data.X, most=5, max_groups=1)
    assert f_score(found.support, data.support) > 0.9


def wide(n, p, q, strength=1.0):
    """Few samples of a great many variables, `q` of which share three factors; and which."""
    rng = np.random.default_rng(0)
    X, members = rng.standard_normal((n, p)), np.zeros(p, dtype=bool)
    members[rng.permutation(p)[:q]] = True
    X[:, members] += strength * rng.standard_normal((n, 3)) @ rng.standard_normal((3, q))
    return X, members


@pytest.mark.parametrize(("q", "strength"), [(60, 1.0), (800, 0.6), (4500, 0.6)])
def test_large_steps_find_what_small_ones_find(q, strength, monkeypatch):
    X, members = wide(60, 9000, q, strength)
    found = fit(X, max_groups=1)
    monkeypatch.setattr(supports, "MANY", 9000)
    wanted = fit(X, max_groups=1)
    assert f_score(found.support, members) >= f_score(wanted.support, members) - 0.01
    assert found.log_evidence > wanted.log_evidence - 0.005 * abs(wanted.log_evidence)
    assert found.n_components == wanted.n_components
    assert found.n_updates < wanted.n_updates


def test_steps_are_not_so_large_that_weak_halves_are_lost(monkeypatch):
    """From all variables to few in one step, half of them would be called all."""
    monkeypatch.setattr(supports, "MANY", 1000)
    monkeypatch.setattr(supports, "AT_ONCE", 100)
    X, members = wide(60, 8000, 4000, 0.35)
    assert f_score(fit(X, max_groups=1).support, members) > 0.75


@pytest.mark.parametrize(("q", "most"), [(60, 8), (1200, 14)])
def test_few_rows_on_disk_take_few_passes(q, most, monkeypatch):
    """And find what is found in memory: large supports take two each, of small ones several share one."""
    for module, name, value in ((supports, "MANY", 1000), (supports, "AT_ONCE", 200), (by_products, "MOST_HELD", 200)):
        monkeypatch.setattr(module, name, value)
    X, _ = wide(60, 1200, q)
    matrix = as_matrix(as_blocks(optional("dask.array").from_array(X, chunks=(30, -1))))
    before = matrix.X.n_passes
    found = find_support(matrix, 6, own_noise=True, max_groups=1)
    assert matrix.X.n_passes - before <= most
    same(found, fit(X, max_groups=1), rtol=1e-8)


def test_a_further_group_in_noise_on_disk_takes_few_passes(monkeypatch):
    """Noise would ask for other columns at each step: eliminations go on among those that are held."""
    for module, name, value in ((supports, "AT_ONCE", 200), (by_products, "MOST_HELD", 200)):
        monkeypatch.setattr(module, name, value)
    X, _ = wide(60, 1200, 60)
    n_passes = []
    for max_groups in (1, 2):
        matrix = as_matrix(as_blocks(optional("dask.array").from_array(X, chunks=(30, -1))))
        found = find_support(matrix, 6, own_noise=True, max_groups=max_groups)
        same(found, fit(X, max_groups=max_groups), rtol=1e-8)
        n_passes.append(matrix.X.n_passes)
    assert n_passes[1] <= n_passes[0] + 3


@pytest.mark.parametrize(("n", "p", "n_weak"), [(700, 400, 0), (400, 700, 60), (250, 300, 30)])
@UNITS
def test_components_beyond_those_that_are_enough_are_never_missed(n, p, n_weak, own_noise, monkeypatch):
    """Where all leading eigenvalues are found for every support, the answer is the same."""
    rng = np.random.default_rng(n)
    strength = np.where(np.arange(p) < 50, 1.0, np.where(np.arange(p) < 50 + n_weak, 0.3, 0.0))
    X = rng.normal(size=(n, 4)) @ (rng.normal(size=(4, p)) * strength) + rng.normal(size=(n, p))
    decompose, known = decomposing.Decomposer.of, []

    def counted(self, support, enough=None):
        found = decompose(self, support, enough)
        known.append(found.whole)
        return found

    monkeypatch.setattr(decomposing.Decomposer, "of", counted)
    some = fit(X, own_noise, most=22)
    assert known.count(False) > 2
    monkeypatch.setattr(decomposing.Decomposer, "of", lambda self, support, enough=None: counted(self, support))
    known.clear()
    same(some, fit(X, own_noise, most=22))
    assert all(known)


def test_factors_beyond_those_that_are_enough_are_found_when_asked_for():
    """The support is the same one, and keeps its evidence."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 400)) + rng.normal(size=(300, 400))
    one, other = (supports.Supports(standardised(as_matrix(X)), 20, True) for _ in range(2))
    members = np.arange(400) < 300
    some, whole = one.at(members), other.at(members, 20)
    assert not some.whole
    assert whole.whole
    assert some.n_components == whole.n_components == 3
    assert some.value == pytest.approx(whole.value, abs=1.0)  # more eigenvalues are summed up
    np.testing.assert_allclose(one.explained(some, 20)[0], other.explained(whole, 20)[0], rtol=1e-6)
    assert one.at(members).whole
    assert one.at(members).value == some.value


@pytest.mark.parametrize(("n_copies", "n_noise"), [(17, 1), (40, 2), (60, 200), (300, 100)])
def test_many_copies_of_a_column(n_copies, n_noise, monkeypatch):
    """An elimination that cannot part them may not go on from the support that it stands on: it would never end."""
    rng, first, steps = np.random.default_rng(0), supports.Supports.first, []

    def counted(self, score, count):
        steps.append(count)
        assert len(steps) < 1000
        return first(self, score, count)

    monkeypatch.setattr(supports.Supports, "first", counted)
    X = np.hstack([rng.normal(size=(100, n_noise)), np.repeat(rng.normal(size=(100, 1)), n_copies, axis=1)])
    assert fit(X, most=5).support[n_noise:].all()


@UNITS
def test_many_equal_factors_beside_a_strong_one(own_noise, monkeypatch):
    """A market and twenty sectors: one sector does not pay, and all do; the fall before the peak is not its end."""
    rng = np.random.default_rng(1)
    X = np.sqrt(0.5) * (rng.normal(size=(300, 120)) + np.repeat(rng.normal(size=(300, 20)), 6, axis=1))
    X = np.hstack([X + 4 * rng.normal(size=(300, 1)), rng.normal(size=(300, 400))])
    decompose = decomposing.Decomposer.of
    some = fit(X, own_noise, most=50)
    monkeypatch.setattr(decomposing.Decomposer, "of", lambda self, support, enough=None: decompose(self, support))
    same(some, fit(X, own_noise, most=50), rtol=1e-5)
    assert some.n_components > 15
