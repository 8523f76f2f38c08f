"""Laws of the core: what must not matter, what must be found, and what is promised."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from gsppca.data import as_matrix
from gsppca.rules import agreement
from gsppca.rules.core import SHARE, core_order, find_core
from gsppca.rules.forward import PROMISED
from gsppca.rules.task import Task
from tests.needs import optional


def factor_data(n=80, p=120, d=4, noise=0.6, seed=0):
    """Columns that share d factors of falling strength."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((d, p)) * np.linspace(1.5, 0.8, d)[:, None]
    return rng.standard_normal((n, d)) @ loadings + noise * rng.standard_normal((n, p))


def everything(X):
    return np.ones(X.shape[1], dtype=bool)


def fit(X, d=4, **options):
    return find_core(as_matrix(X), options.pop("relevant", everything(np.asarray(X))), d, **options)


SHAPES = {"wide": (60, 150), "tall": (300, 90), "few": (40, 12)}


@pytest.fixture(params=SHAPES, ids=str)
def X(request):
    n, p = SHAPES[request.param]
    return factor_data(n, p)


def same(fit, other, places=None):
    order = other.order if places is None else places[other.order]
    np.testing.assert_array_equal(order, fit.order)
    assert other.size == fit.size
    assert other.share == pytest.approx(fit.share, abs=1e-8)
    np.testing.assert_allclose(other.share_path.equal_share, fit.share_path.equal_share, atol=1e-7)


def test_rows_may_come_in_any_order(X):
    same(fit(X), fit(X[np.random.default_rng(1).permutation(len(X))]))


def test_columns_may_come_in_any_order(X):
    places = np.random.default_rng(2).permutation(X.shape[1])
    found, other = fit(X), fit(X[:, places])
    same(found, other, places)
    np.testing.assert_allclose(found.predicted[places], other.predicted, atol=1e-9)


def test_units_and_signs_do_not_matter(X):
    rng = np.random.default_rng(3)
    p = X.shape[1]
    same(fit(X), fit(X * rng.uniform(0.1, 10, p) * rng.choice([-1, 1], p) + rng.standard_normal(p)))


def test_rounding_does_not_matter(X):
    jitter = 1 + 1e-12 * np.random.default_rng(4).standard_normal(X.shape)
    same(fit(X), fit(X * jitter))
    same(fit(X), fit(np.asfortranarray(X)))


@pytest.mark.parametrize("container", ["csr", "csc", "dask"])
def test_containers_agree(X, container):
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    if container == "dask":
        da = optional("dask.array")
        other = da.from_array(X, chunks=(17, X.shape[1]))
    else:
        other = sparse.csr_array(X) if container == "csr" else sparse.csc_array(X)
    same(fit(X), find_core(as_matrix(other), everything(X), 4))


@pytest.mark.parametrize(("shape", "most"), [((400, 60), 4), ((60, 400), 29)])
def test_data_in_blocks_is_read_a_bounded_number_of_times(shape, most):
    """Many rows: see `test_grams`. Else five for axes and folds, two for each of eleven rounds, two to describe."""
    da = optional("dask.array")
    matrix = as_matrix(da.from_array(factor_data(*shape), chunks=(shape[0] // 4, shape[1])))
    before = matrix.X.n_passes
    find_core(matrix, np.ones(shape[1], dtype=bool), 4)
    assert matrix.X.n_passes - before <= most


def test_single_precision_is_enough(X):
    single = X.astype(np.float32)
    same(fit(single.astype(np.float64)), fit(single))


def test_a_turn_of_the_rows_leaves_the_order():
    """Without folds, only second moments enter; centred data is turned by what leaves its mean zero."""
    X = factor_data(30, 70)
    Z = X - X.mean(axis=0)
    rng = np.random.default_rng(5)
    one = np.ones((30, 1)) / np.sqrt(30)
    basis = np.linalg.qr(np.hstack([one, rng.standard_normal((30, 29))]))[0][:, 1:]
    turn = basis @ np.linalg.qr(rng.standard_normal((29, 29)))[0] @ basis.T
    kurtosis = [np.sum(np.sum(Y**2, axis=1) ** 2) for Y in (Z, turn @ Z)]
    assert kurtosis[0] != pytest.approx(kurtosis[1])  # the shrinkage differs a little: fourth powers of rows
    orders = [core_order(as_matrix(Y), everything(X), 4, n_steps=6).order for Y in (Z, turn @ Z)]
    np.testing.assert_array_equal(*orders)


def test_all_variables_predict_everything(X):
    X = X[:, :30]
    found = fit(X, share=1 - 1e-9)
    assert found.reached
    assert found.size <= X.shape[1]
    path = found.share_path
    assert len(path.sizes) == X.shape[1]
    for share in (path.share, path.equal_share, path.promised):
        assert share[-1] == pytest.approx(1.0, abs=1e-8)


def test_the_promised_share_never_falls(X):
    promised = fit(X, share=0.99).share_path.promised
    assert (np.diff(promised) >= -1e-12).all()
    assert 0 < promised[0] < promised[-1] <= 1 + 1e-9


def test_the_order_is_nested_and_complete(X):
    found = fit(X)
    assert sorted(found.order) == list(range(X.shape[1]))
    for n_steps in (3, 10, 70):
        order = core_order(as_matrix(X), everything(X), 4, n_steps=n_steps).order
        np.testing.assert_array_equal(order, found.order[:n_steps])
    np.testing.assert_array_equal(fit(X, share=0.5).order, found.order)  # whatever the target


def test_the_first_choice_is_the_best_and_the_rest_near_the_best_subset():
    """Against all subsets of three of twelve variables: the greedy choice explains nearly as much as the best."""
    X = factor_data(200, 12, d=3, noise=1.0, seed=6)
    found = core_order(as_matrix(X), everything(X), 3, n_steps=3)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    moments = Z.T @ Z / len(Z)
    shrinkage = fit(X, d=3).shrinkage
    shrunken = (1 - shrinkage) * moments + shrinkage * np.eye(12)
    axes = np.linalg.eigh(moments)[1][:, ::-1][:, :3]
    cross = shrunken @ axes

    def share(chosen):
        own = cross[list(chosen)]
        total = np.trace(axes.T @ shrunken @ axes)
        return np.trace(own.T @ np.linalg.solve(shrunken[np.ix_(chosen, chosen)], own)) / total

    shares = [[share(s) for s in combinations(range(12), k)] for k in (1, 2, 3)]
    np.testing.assert_allclose(found.promised, [share(found.order[:k]) for k in (1, 2, 3)], rtol=1e-10)
    assert found.promised[0] == pytest.approx(max(shares[0]), rel=1e-12)
    for k in (1, 2):
        assert found.promised[k] >= 0.95 * max(shares[k])
        assert found.promised[k] > np.quantile(shares[k], 0.95)


def rv(one, other):
    """The RV coefficient of two tables of the same rows: the cosine between their products of rows."""
    products = [table @ table.T for table in (one, other)]
    return np.vdot(*products) / np.prod([np.linalg.norm(own) for own in products])


def literal_forward(Z, rows, d, shrinkage, n_steps):
    """The forward selection as its formula reads: a regression, or an RV coefficient, for every candidate."""
    train = Z[rows]
    moments = train.T @ train / len(train)
    shrunken = (1 - shrinkage) * moments + shrinkage * np.eye(Z.shape[1])
    axes = np.linalg.eigh(moments)[1][:, ::-1][:, :d]
    cross, total = shrunken @ axes, np.trace(axes.T @ shrunken @ axes)
    scores, wanted = train @ axes, agreement.KEPT * rv(train, train @ axes)
    chosen: list[int] = []
    errors, by_agreement, settled = [], 0, False
    promised = 0.0
    for _ in range(n_steps):
        others = [k for k in range(Z.shape[1]) if k not in chosen]
        settled = settled or (promised >= PROMISED * total and rv(train[:, chosen], scores) >= wanted)
        if promised >= PROMISED * total and not settled:
            value = [rv(train[:, [*chosen, k]], scores) for k in others]
            settled = max(value) <= rv(train[:, chosen], scores)  # it cannot be raised any more
            by_agreement += 1
        else:
            candidates = ([*chosen, k] for k in others)
            value = [np.vdot(cross[s], np.linalg.solve(shrunken[np.ix_(s, s)], cross[s])) for s in candidates]
        chosen.append(others[int(np.argmax(value))])
        coefficients = np.linalg.solve(shrunken[np.ix_(chosen, chosen)], cross[chosen])
        promised = np.vdot(cross[chosen], coefficients)
        outside = Z[~rows]
        errors.append(np.sum((outside @ axes - outside[:, chosen] @ coefficients) ** 2))
    return chosen, np.array(errors), np.sum((Z[~rows] @ axes) ** 2), by_agreement


def one_large_and_many_small_factors(n, p):
    """Half of the columns repeat one factor, the others have one of six each."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((n, 7))
    X = 0.4 * rng.standard_normal((n, p))
    X[:, : p // 2] += factors[:, :1]
    X[:, p // 2 :] += factors[:, 1 + np.arange(p - p // 2) % 6]
    return X


@pytest.mark.parametrize("kept", [agreement.KEPT, 0.99])  # the latter cannot always be reached
@pytest.mark.parametrize("made_by", [factor_data, one_large_and_many_small_factors])
@pytest.mark.parametrize(("n", "p"), [(40, 50), (90, 50)])
def test_shares_are_those_of_literal_regressions(n, p, made_by, kept, monkeypatch):
    monkeypatch.setattr(agreement, "KEPT", kept)
    X, d = made_by(n, p), 4 if made_by is factor_data else 7
    found = fit(X, d=d, share=0.97)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    n_steps = min(len(found.share_path.sizes), 24)
    whole, _, _, by_agreement = literal_forward(Z, np.ones(n, dtype=bool), d, found.shrinkage, n_steps)
    np.testing.assert_array_equal(found.order[:n_steps], whole)
    assert by_agreement > 0
    errors, total = 0, 0
    for number in range(5):
        rows = found.fold != number
        own, p_ = Z[rows], Z.shape[1]
        moments = own.T @ own / rows.sum()
        square, squares = np.sum(moments**2), np.sum(own**2, axis=1)
        # Ledoit & Wolf (2004): mean squared distance of the products of single rows from their mean.
        distance = np.mean([np.sum((np.outer(z, z) - moments) ** 2) for z in own]) / rows.sum()
        assert distance == pytest.approx(np.sum(squares**2) / rows.sum() ** 2 - square / rows.sum())
        shrinkage = distance / (square - np.trace(moments) ** 2 / p_)
        _, own_errors, own_total, _ = literal_forward(Z, rows, d, shrinkage, n_steps)
        errors, total = errors + own_errors, total + own_total
    np.testing.assert_allclose(found.share_path.share[:n_steps], 1 - errors / total, rtol=1e-8)


@pytest.mark.parametrize(("n", "p"), [(60, 120), (300, 60)])
def test_a_core_keeps_the_distances_between_rows(n, p):
    """One column of each factor predicts the components; but the large factor would weigh no more than a small one."""
    X = one_large_and_many_small_factors(n, p)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    found = fit(X, d=7)
    scores = Z @ np.linalg.svd(Z, full_matrices=False)[2][:7].T
    enough = agreement.KEPT * rv(Z, scores)
    assert rv(Z[:, found.core], scores) >= enough
    assert rv(Z[:, found.order[:7]], scores) < enough
    assert found.share >= SHARE
    # A lower target asks for the share alone.
    less = fit(X, d=7, share=SHARE - 0.01)
    assert less.size < found.size
    np.testing.assert_array_equal(less.order, found.order)


@pytest.mark.parametrize("n", [60, 200])
def test_a_core_is_the_smallest_that_keeps_share_and_distances(n):
    """With 60 rows both are kept before the model promises enough for distances to decide what is chosen."""
    X = factor_data(n, 600, noise=2.0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    found, by_share = fit(X), fit(X, share=SHARE - 1e-6).size
    scores = Z @ np.linalg.svd(Z, full_matrices=False)[2][:4].T
    kept = [rv(Z[:, found.order[:m]], scores) for m in range(by_share, found.size + 1)]
    enough = agreement.KEPT * rv(Z, scores)
    assert kept[-1] >= enough
    assert len(kept) > 1
    assert max(kept[:-1]) < enough


def test_distances_that_cannot_be_kept_do_not_make_a_core_large(monkeypatch):
    """Then it keeps them to 1 % as well as any number of variables does."""
    monkeypatch.setattr(agreement, "KEPT", 2.0)
    X = factor_data(100, 60, noise=1.0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    found = fit(X)
    scores = Z @ np.linalg.svd(Z, full_matrices=False)[2][:4].T
    kept = [rv(Z[:, found.order[:m]], scores) for m in range(1, 61)]
    assert kept[found.size - 1] >= 0.99 * max(kept)
    assert found.size < 1 + int(np.argmax(kept))


@pytest.mark.parametrize("n_distinct", [10, 100])
def test_a_copy_is_related_and_fully_predicted(n_distinct):
    X = factor_data(60, n_distinct)
    X = np.hstack([X, -3 * X + 1, 0.1 * X])
    found = fit(X)
    assert found.reached
    distinct = found.core % n_distinct
    assert len(set(distinct)) == found.size
    copies = np.isin(np.arange(3 * n_distinct) % n_distinct, distinct)
    np.testing.assert_allclose(found.predicted[copies], 1.0, atol=1e-9)
    # The copies of all that the forward selection chose come last.
    n_chosen = min(n_distinct, 128)
    assert len(set(found.order[:n_chosen] % n_distinct)) == n_chosen
    assert sorted(found.order) == list(range(3 * n_distinct))


def test_included_variables_enter_first_and_the_rest_complements_them():
    X = factor_data(60, 100)
    best = fit(X).order[0]
    twin = X[:, best] + 1e-3 * np.random.default_rng(0).standard_normal(60)
    X = np.column_stack([X, twin])
    include = np.array([100, 7])
    found = fit(X, include=include)
    assert set(found.order[:2]) == {100, 7}
    assert best not in found.core  # its twin is in already
    assert found.size >= 2
    assert sorted(found.order) == list(range(101))


def test_copies_may_be_included():
    X = factor_data(60, 30)
    X = np.hstack([X, X[:, :2]])
    assert set(fit(X, include=np.array([0, 30, 31])).order[:3]) == {0, 30, 31}


def components(X, relevant, include=(), exclude=()):
    """Scores of the components that a core is to predict, up to their signs."""
    first, never = (np.array(some, dtype=int) for some in (include, exclude))
    task = Task(as_matrix(X), relevant, 4, first, never, None, True)
    task.selections(None)
    return np.abs(task.decomposition.scores)


def test_an_included_variable_need_not_be_relevant():
    X = factor_data(60, 40)
    X[:, 3] = np.random.default_rng(0).standard_normal(60)
    relevant = everything(X)
    relevant[3] = False
    without = fit(X, relevant=relevant)
    found = fit(X, relevant=relevant, include=np.array([3]))
    assert found.order[0] == 3
    assert 3 not in without.order
    np.testing.assert_array_equal(found.fold, without.fold)
    # It is not to be predicted.
    np.testing.assert_allclose(components(X, relevant, include=[3]), components(X, relevant), atol=1e-8)
    assert not np.allclose(components(X, everything(X)), components(X, relevant), atol=1e-3)


def test_excluded_variables_never_appear_but_are_explained():
    X = factor_data(60, 40)
    free = fit(X)
    found = fit(X, exclude=free.core[:3])
    assert not set(free.core[:3]) & set(found.order)
    assert len(found.order) == 37
    np.testing.assert_array_equal(found.fold, free.fold)
    relevant = everything(X)
    np.testing.assert_allclose(components(X, relevant, exclude=free.core[:3]), components(X, relevant), atol=1e-8)


def test_variables_that_are_not_relevant_do_not_matter():
    X = factor_data(60, 80)
    noise = np.random.default_rng(9).standard_normal((60, 30))
    relevant = np.arange(110) < 80
    rows = np.column_stack([np.arange(60.0), np.arange(60.0)])  # the same folds
    found, other = fit(X, rows=rows), fit(np.hstack([X, noise]), relevant=relevant, rows=rows)
    np.testing.assert_array_equal(found.order, other.order)
    np.testing.assert_allclose(other.share_path.share, found.share_path.share, atol=1e-9)
    assert np.mean(other.predicted[80:]) < 0.05


def test_a_core_has_as_many_variables_as_components():
    X = factor_data(60, 50, d=1, noise=0.1)
    assert fit(X, d=1).size == 1
    found = fit(X, d=6)
    assert found.share_path.share[0] > 0.9
    assert found.size == 6


def test_an_unreachable_target_says_so():
    X = np.random.default_rng(0).standard_normal((40, 400))
    found = fit(X, d=5)
    assert not found.reached
    path = found.share_path
    assert len(path.sizes) == 128
    assert found.share >= path.share.max() - 0.01
    assert found.size >= 5
    assert (path.share[4 : found.size - 1] < path.share.max() - 0.01).all()


def test_common_units_keep_their_weights():
    """Without standardising, the components are those of the data as it is: a large column dominates."""
    X = factor_data(80, 30)
    X[:, 4] *= 100
    assert fit(X, d=1, standardise=False).order[0] == 4
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    same(fit(scaled, standardise=True), fit(scaled, standardise=False))


def test_constant_columns_are_never_in_the_core():
    X = factor_data(50, 40)
    X[:, 5] = 3.0
    found = fit(X)
    assert found.order[-1] == 5
    assert np.isfinite(found.predicted).all()


def sparse_truth(n=66, p=200, q=20, d=5, n_false=6, seed=0):
    """Data with q relevant variables, and what is taken for relevant: some noise among them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, :q] += rng.standard_normal((n, d)) @ rng.standard_normal((d, q)) * 2
    return X, np.arange(p) < q + n_false


def test_noise_that_is_taken_for_relevant_comes_last():
    """A noise variable is a component of its own: that must not bring it forward."""
    hits = []
    for seed in range(5):
        X, relevant = sparse_truth(seed=seed)
        order = fit(X, d=5, relevant=relevant).order
        assert sorted(order) == list(range(26))
        hits.append(np.mean(order[:20] < 20))
    assert np.mean(hits) > 0.95


def test_noise_may_be_included_in_a_sparse_truth():
    X, relevant = sparse_truth()
    include = np.array([150, 151, 152, 3])
    assert set(fit(X, d=5, relevant=relevant, include=include).order[:4]) == set(include)


def test_a_given_relevance_orders_what_adds_no_more_than_chance():
    X, relevant = sparse_truth()
    relevance = np.linspace(1, 0, 200)
    order = fit(X, d=5, relevant=relevant, relevance=relevance).order
    n_head = int(np.flatnonzero(np.diff(order) < 0)[-1]) + 1  # after that, by relevance alone
    assert n_head < 15
    assert sorted(order) == list(range(26))
    np.testing.assert_array_equal(order, core_then(order[:n_head], np.flatnonzero(relevant)))


def core_then(head, others):
    return np.append(head, np.setdiff1d(others, head))


def test_the_core_of_a_sparse_truth_is_smaller():
    X, relevant = sparse_truth(n=200, n_false=0, d=3)
    assert fit(X, d=3, relevant=relevant).size < 20


def test_pure_noise_has_no_copies():
    """Under a covariance that is all identity, what a variable tells is its weight in the components, and no more."""
    noise = (np.random.default_rng(seed).standard_normal((2000, 90)) for seed in range(20))
    X, found = next((X, found) for X in noise if (found := fit(X)).shrinkage == 1)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    axes = np.linalg.svd(Z, full_matrices=False)[2][:4]
    np.testing.assert_array_equal(found.order, np.argsort(-np.sum(axes**2, axis=0)))


@pytest.mark.parametrize("p", [12, 100])
def test_of_equal_columns_the_more_relevant_comes_first(p):
    """Columns that are equal once they are clipped, or on the rows of a fold, need not be equal altogether."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)) @ rng.standard_normal((3, p)) + 0.3 * rng.standard_normal((60, p))
    half = p // 2
    X[:, half:] = X[:, :half]
    relevance = rng.permutation(p).astype(float)
    found = core_order(as_matrix(X), np.ones(p, dtype=bool), 3, relevance=relevance, n_steps=half)
    for k in found.order[: half // 2]:
        assert relevance[k] > relevance[(k + half) % p]


@pytest.mark.parametrize("shape", [(60, 150), (300, 90), (40, 12)])
@pytest.mark.parametrize("asked", [3, 4, 8])
def test_there_are_no_more_components_than_the_data_has(shape, asked):
    """More of them would be rounding, and could be any."""
    X = factor_data(*shape, d=3, noise=0.0)
    found = fit(X, d=asked)
    assert len(found.description.component_shares) == 3
    assert found.size == fit(X, d=3).size
    places = np.random.default_rng(2).permutation(shape[1])
    for other, columns in ((X[:, places], places), (np.asfortranarray(X), np.arange(shape[1]))):
        again = fit(other, d=asked)
        np.testing.assert_array_equal(np.sort(columns[again.core]), np.sort(found.core))


def test_rows_without_some_component():
    """Without the fold of the only row that has a factor, the others have one component less."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 1)) @ rng.standard_normal((1, 8))
    X[7] += 5 * rng.standard_normal(8)
    found = fit(X, d=2)
    assert len(found.description.component_shares) == 2
    assert np.isfinite(found.share_path.share).all()
    same(found, fit(X[rng.permutation(30)]))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_few_rows_have_a_core(n):
    found = fit(np.random.default_rng(0).standard_normal((n, 6)), d=2)
    assert 1 <= found.size <= 6
    assert sorted(found.order) == list(range(6))
