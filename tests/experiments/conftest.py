"""A small experiment of our own: quick, with two rows a run."""

from __future__ import annotations

import pytest

from gsppca.experiments import Claim, Experiment, RunSpec, Table
from tests.needs import optional

optional("pandas")


class Squares(Experiment):
    """Rows that can be told in advance."""

    name = "squares"
    title = "Squares"
    paper = "nowhere"
    question = "Is it a square?"
    parameters = ("factor", "method")
    values = ("power", "value")

    def runs(self, plan):
        for factor in (1, 2.5):
            for seed in plan.seeds(3):
                yield RunSpec.of(seed, {"factor": factor, "method": "none"})

    def run(self, spec):
        return [{"power": power, "value": (spec["factor"] * spec.seed) ** power} for power in (1, 2)]

    def summary(self, rows):
        return [
            Table(
                "Values",
                ["power", "mean"],
                [[str(p), f"{v:.2f}"] for p, v in rows.groupby("power").value.mean().items()],
            )
        ]

    def figure(self, rows):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(2, 2))
        figure.subplots().plot(rows.value)
        return figure

    def claims(self, rows):
        return [Claim("Squares are positive", "holds", "They are.", "yes", "yes")]


@pytest.fixture
def squares():
    return Squares()
