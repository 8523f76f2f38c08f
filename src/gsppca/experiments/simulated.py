"""Grids of simulated data sets times methods: what tables of F-scores are made of."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from gsppca.experiments.data import get_data
from gsppca.experiments.methods import get_method
from gsppca.experiments.spec import Experiment, Plan, Row, RunSpec, Scalar

OWN, TRUE = "own", "true"  # sizes: by the rule of the method, or as many as are relevant
RAW, STANDARDISED = "raw", "standardised"

Cell = dict[str, Scalar]


class SimulatedGrid(Experiment):
    """F-scores of methods over cells of simulated data.

    A cell names its data ("data", see `register_data`) and their parameters; "scale" may be "standardised". A subclass
    lists cells and methods; each is run on the same data sets, one per seed.
    """

    values: ClassVar[tuple[str, ...]] = ("f_score", "precision", "recall", "n_selected", "n_relevant", "n_components")
    n_runs: ClassVar[int] = 50
    costly: ClassVar[frozenset[str]] = frozenset({"sspca"})  # cross-validates, at fifty times the cost of the others
    fixed: ClassVar[dict[str, Any]] = {}  # parameters of the simulator that are no columns
    # Columns of a spec that are not parameters of the simulator.
    _OWN: ClassVar[frozenset[str]] = frozenset({"data", "scale", "method", "size"})

    @abstractmethod
    def cells(self, plan: Plan) -> Sequence[Cell]:
        """Settings of the simulations; the keys are among `parameters`."""

    @abstractmethod
    def methods(self, cell: Cell, plan: Plan) -> Sequence[tuple[str, str]]:
        """Name and size ("own" or "true") of the methods to run on a cell."""

    def seeds(self, cell: Cell, method: str, plan: Plan) -> range:
        """Seeds of a cell; fewer for a costly method where a subclass says so."""
        return plan.seeds(self.n_runs)

    def runs(self, plan: Plan) -> Iterator[RunSpec]:
        """Cells times methods times seeds; costly methods last, seed by seed, so that all cells grow alike."""
        specs: list[RunSpec] = []
        for cell in self.cells(plan):
            chosen = [*self.methods(cell, plan), *((name, OWN) for name in plan.methods)]
            for method, size in dict.fromkeys(chosen):
                parameters = {name: cell.get(name) for name in self.parameters} | {"method": method}
                if "size" in self.parameters:
                    parameters["size"] = size
                specs += [RunSpec.of(seed, parameters) for seed in self.seeds(cell, method, plan)]
        yield from (spec for spec in specs if spec["method"] not in self.costly)
        yield from sorted((spec for spec in specs if spec["method"] in self.costly), key=lambda spec: spec.seed)

    def run(self, spec: RunSpec) -> list[Row]:
        """Simulate, select, score."""
        return self.rows_of(spec, get_method(spec["method"]))

    def rows_of(self, spec: RunSpec, method: Any) -> list[Row]:
        """Score what ``method.select`` selects from the data of a run."""
        from gsppca.metrics import f_score, precision, recall

        given = dict(spec.parameters)
        simulator = {name: value for name, value in given.items() if name not in self._OWN} | self.fixed
        data = get_data(self.data_name(spec))(random_state=spec.seed, **simulator)
        X = standardised(data.X) if given.get("scale") == STANDARDISED else data.X
        n_relevant = int(np.sum(data.support))
        size = n_relevant if given.get("size") == TRUE else None
        # Pure noise has no components; methods are told one.
        support, _ = method.select(X, max(data.n_components, 1), size, spec.seed)
        row = {
            "f_score": f_score(support, data.support),
            "precision": precision(support, data.support),
            "recall": recall(support, data.support),
            "n_selected": int(support.sum()),
            "n_relevant": n_relevant,
            "n_components": data.n_components,
        }
        return [row]

    def data_name(self, spec: RunSpec) -> str:
        """Name of the simulator of a run."""
        return str(spec["data"])


def standardised(X: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    """Columns with mean zero and variance one; constant ones stay zero."""
    centred = X - X.mean(axis=0)
    deviations = centred.std(axis=0)
    return np.asarray(centred / np.where(deviations > 0, deviations, 1.0))
