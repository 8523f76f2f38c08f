"""What a selection is worth on real data: the core, the paper's method, peers, random variables and all of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gsppca._typing import BoolArray, FloatArray
from gsppca.experiments.beyond import real_verdicts
from gsppca.experiments.beyond import real_views as views
from gsppca.experiments.beyond.peers import absent_packages
from gsppca.experiments.beyond.real_groups import FEWER_RUNS, N_RUNS, groups, known_groups
from gsppca.experiments.beyond.real_sets import MADELON, SETS, Split, load, split, why_absent
from gsppca.experiments.held_out import LEAST_SHRINKAGE, HeldOut, standardised
from gsppca.experiments.methods import column_order, get_method, own_procedure, register_method
from gsppca.experiments.paper.printed import notes_of
from gsppca.experiments.selection_measures import nogueira_stability
from gsppca.experiments.spec import Claim, Experiment, Plan, Row, RunSpec, Table
from gsppca.progress import tell

SIZES = (10, 30, 100)
FIRST_SEED, N_SPLITS = 100, 3  # splits 0 to 2 were looked at while the core was made
N_DRAWS = 5
OWN, WHOLE, SCALED = "own", "whole", "whole scaled"
CORE, RELEVANT, DEFAULT = views.CORE, views.RELEVANT, views.DEFAULT
RANDOM, ALL = views.RANDOM, views.ALL
METHODS = (DEFAULT, CORE, RANDOM, "fastcan", ALL, RELEVANT, "gsppca-paper", "fsca", "variance", "tpca", "laplacian")
SLOWER = ("mcfs", "fps", "cur", "spca")
QUICK_SETS = ("wine", "digits")
QUICK_METHODS = (DEFAULT, CORE, RELEVANT, "fsca", "variance", "laplacian", RANDOM, ALL)
# These have a rule for the number of variables; the others get that of the core. SPCA's takes half a minute on Isolet.
OWN_RULE = (CORE, RELEVANT, "gsppca-paper", "tpca", "variance")
DEAR = ("BASEHOCK",)  # minutes a split, where others take seconds
RAW = ("variance",)  # on standardised columns it would rank nothing

register_method(CORE, own_procedure(n_features_to_select="core"), "joint, core", nested=True)
register_method(RELEVANT, own_procedure(n_features_to_select="relevant"), "joint, relevant", nested=True)


@dataclass(frozen=True)
class Chosen:
    """What a method chose on one half: supports by the name of their size, the model and the time of its fit.

    `relevant` are the variables that it found relevant, if it tells.
    """

    supports: dict[str, BoolArray]
    model: Any
    seconds: float
    relevant: BoolArray | None = None


class RealData(Experiment):
    """Held-out shares, groups, redundancy and stability on real sets."""

    name = "real-data"
    title = "Beyond the paper: real data"
    paper = "new"
    question = "How much of the structure of real tables the chosen variables carry, on rows not seen before."
    parameters = ("data", "method")
    values = (
        "at",
        "size",
        "share",
        "equal",
        "fixed",
        "promised",
        "kept",
        "gap",
        "accuracy",
        "clustering",
        "nmi",
        "redundancy",
        "stability",
        "relevant",
        "n_components",
        "hits",
        "fit_seconds",
        "n",
        "p",
    )
    needs_data = True
    notes = notes_of("real-data")

    def runs(self, plan: Plan) -> Iterator[RunSpec]:
        """Split by split, cheap sets first; slower peers and the dearest set at the end.

        What cannot be had here is left out, and told.
        """
        absent = absent_packages()
        missing = {name: why for name in (QUICK_SETS if plan.quick else SETS) if (why := why_absent(name))}
        for why in missing.values():
            tell(f"experiment {self.name}", 0, detail=f"left out: {why}")
        for method, package in absent.items():
            tell(f"experiment {self.name}", 0, detail=f"left out: {method}, for {package} is not installed")
        names = [plan.data] if plan.data else [n for n in (QUICK_SETS if plan.quick else SETS) if n not in missing]
        first = (*(QUICK_METHODS if plan.quick else METHODS), *plan.methods)
        last = () if plan.quick else SLOWER
        cheap, dear = [n for n in names if n not in DEAR], [n for n in names if n in DEAR]
        for some, methods in ((cheap, first), (cheap, last), (dear, first), (dear, last)):
            for number, seed in enumerate(plan.seeds(N_SPLITS, quick=1)):
                for name in some:
                    for method in dict.fromkeys(methods):
                        # The default is fitted to all rows: there is nothing to split.
                        if method not in absent and not (method == DEFAULT and number):
                            yield RunSpec.of(FIRST_SEED + seed, {"data": name, "method": method})

    def run(self, spec: RunSpec) -> list[Row]:
        """Choose on each half, judge on the other; the groups are looked for in all rows."""
        if spec["method"] == DEFAULT:
            return [_whole(spec["data"], spec.seed, scale) for scale in (False, True)]
        here = split(spec["data"], spec.seed)
        if spec["method"] != RANDOM:
            return _rows(here, [_choose(spec, here, half) for half in (0, 1)], spec.seed)
        drawn = [[_draw(spec, here, half, i) for half in (0, 1)] for i in range(N_DRAWS)]
        draws = [_rows(here, both, spec.seed, N_DRAWS) for both in drawn]
        return [_mean(list(same)) for same in zip(*draws, strict=True)]

    def summary(self, rows: Any) -> list[Table]:
        """Shares, sets, groups, costs."""
        return views.tables(rows)

    def figure(self, rows: Any) -> Any:
        """Share against size."""
        return views.figure(rows)

    def claims(self, rows: Any) -> list[Claim]:
        """The goals."""
        return real_verdicts.claims(rows)


def _quietly(model: Any, X: FloatArray) -> Any:
    """Fit; what the answer is worth is measured here, so that its warnings tell nothing new."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


@lru_cache(maxsize=8)
def _core_size(name: str, seed: int, half: int) -> int:
    """Number of variables of the core of a half."""
    here = split(name, seed)
    d = here.judges[half].n_components
    X = here.Z[here.rows[half]][:, column_order(here.Z.shape[1], seed)]
    return int(_quietly(get_method(CORE).factory(d, None, seed), X).n_selected_)


def _choose(spec: RunSpec, here: Split, half: int) -> Chosen:
    """Variables that a method chooses on a half, at all sizes."""
    name, d = spec["method"], here.judges[half].n_components
    p = here.Z.shape[1]
    if name == ALL:
        return Chosen({OWN: np.ones(p, dtype=bool)}, None, 0.0)
    order = column_order(p, spec.seed)
    X = (here.data.X if name in RAW else here.Z)[here.rows[half]][:, order]
    wanted = {str(size): size for size in SIZES if size < p}
    method, model = get_method(name), None
    start = time.perf_counter()
    if name in OWN_RULE:
        model = _quietly(method.factory(d, None, spec.seed), X)
        seconds = time.perf_counter() - start
        masks = {at: np.asarray(model.ranking_) <= size for at, size in wanted.items()} | {OWN: model.support_}
    else:
        wanted[OWN] = max(1, _core_size(spec["data"], spec.seed, half))
        start = time.perf_counter()
        masks, seconds = {}, 0.0
        largest = max(wanted.values())
        if method.nested:
            model = _quietly(method.factory(d, largest, spec.seed), X)
            seconds = time.perf_counter() - start
        for at, size in wanted.items():
            fitted = model if model is not None else _quietly(method.factory(d, size, spec.seed), X)
            masks[at] = np.asarray(fitted.ranking_) <= size if method.nested else np.asarray(fitted.support_)
        seconds = seconds or (time.perf_counter() - start) / len(wanted)
    if name == RELEVANT:  # its order is that of the core
        masks = {OWN: masks[OWN]}
    back = np.argsort(order)
    relevant = getattr(model, "relevant_", None)
    return Chosen(
        {at: np.asarray(mask, dtype=bool)[back] for at, mask in masks.items()},
        model,
        seconds,
        None if relevant is None else relevant[back],
    )


def _draw(spec: RunSpec, here: Split, half: int, number: int) -> Chosen:
    """Variables at random, as many as the core has."""
    p = here.Z.shape[1]
    order = np.random.default_rng([spec.seed, half, number]).permutation(p)
    wanted = {str(size): size for size in SIZES if size < p}
    wanted[OWN] = max(1, _core_size(spec["data"], spec.seed, half))
    return Chosen({at: np.isin(np.arange(p), order[:size]) for at, size in wanted.items()}, None, 0.0)


def _rows(here: Split, chosen: Sequence[Chosen], seed: int, n_draws: int = 1) -> list[Row]:
    """Measures of what was chosen on the two halves, a row for every size; draws share the runs of k-means."""
    rows = []
    for at in chosen[0].supports:
        masks = [one.supports[at] for one in chosen]
        shares = [judge.share(np.flatnonzero(mask)) for judge, mask in zip(here.judges, masks, strict=True)]
        pairs = zip(here.judges, masks, strict=True)
        fixed = [judge.share(np.flatnonzero(mask), LEAST_SHRINKAGE).weighted for judge, mask in pairs]
        row = _row(at, here.data.X.shape)
        row |= {
            "size": float(np.mean([mask.sum() for mask in masks])),
            "share": float(np.mean([one.weighted for one in shares])),
            "equal": float(np.mean([one.equal for one in shares])),
            "fixed": float(np.mean(fixed)),
            "stability": _stability(masks),
            "fit_seconds": round(chosen[0].seconds, 4),
        }
        if at == OWN and _is_core(chosen):
            promised = [float(one.model.core_share_) for one in chosen]
            kept = [_kept(here, half, one) for half, one in enumerate(chosen)]
            gaps = [share - said for share, said in zip(kept, promised, strict=True)]
            row |= {"promised": float(np.mean(promised)), "kept": float(np.mean(kept)), "gap": max(gaps, key=abs)}
        if at == OWN and hasattr(chosen[0].model, "relevant_"):
            row["relevant"] = float(np.mean([one.model.relevant_.sum() for one in chosen]))
        n_runs = max(1, (N_RUNS if at == OWN else FEWER_RUNS) // n_draws)
        rows.append(row | groups(here.Z, here.data.labels, masks, seed, n_runs))
    return rows


def _kept(here: Split, half: int, chosen: Chosen) -> float:
    """Share that a core predicts, on the other half, of what it was chosen for: the components of the relevant ones."""
    assert chosen.relevant is not None
    relevant = chosen.relevant | chosen.supports[OWN]
    judge = HeldOut(here.Z[:, relevant], here.rows[half], here.rows[1 - half], here.judges[half].n_components)
    return judge.share(np.flatnonzero(chosen.supports[OWN][relevant])).weighted


def _is_core(chosen: Sequence[Chosen]) -> bool:
    """Whether the variables are a core, which promises a share."""
    return all(getattr(one.model, "selected_by_", "") == "core" for one in chosen)


def _stability(masks: Sequence[BoolArray]) -> float | None:
    counts = [int(mask.sum()) for mask in masks]
    if all(count == 0 for count in counts) or all(count == len(masks[0]) for count in counts):
        return None
    return nogueira_stability(masks)


def _row(at: str, shape: tuple[int, ...]) -> Row:
    return dict.fromkeys(RealData.values) | {"at": at, "n": shape[0], "p": shape[1]}


def _mean(rows: Sequence[Row]) -> Row:
    """Means over draws, for what is a number."""
    first = rows[0]
    return {
        name: float(np.mean([row[name] for row in rows])) if isinstance(value, float) else value
        for name, value in first.items()
    }


def _whole(name: str, seed: int, scale: bool) -> Row:
    """What the default gives on all rows, in the units of the file or with columns of variance one."""
    from gsppca import GSPPCA

    data = load(name)
    p = data.X.shape[1]
    order = column_order(p, seed)
    start = time.perf_counter()
    model = _quietly(GSPPCA(scale=scale), data.X[:, order])
    row = _row(SCALED if scale else WHOLE, data.X.shape)
    row |= {
        "size": int(model.n_selected_),
        "relevant": int(model.relevant_.sum()),
        "promised": float(model.core_share_) if model.selected_by_ == "core" else None,
        "n_components": int(model.n_latent_),
        "fit_seconds": round(time.perf_counter() - start, 4),
    }
    if data.labels is not None:
        chosen = np.sort(order[np.flatnonzero(model.support_)])
        row |= known_groups(standardised(data.X)[:, chosen], data.labels, seed)
    if name == "madelon":
        selected = data.columns[order[np.flatnonzero(model.support_)]]
        row["hits"] = int(np.isin(selected, MADELON).sum())
    return row
