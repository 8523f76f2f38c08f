"""What an experiment is: its runs, the rows they give, and the views of those rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

Scalar = str | int | float | None
Row = dict[str, Any]

HOLDS = "holds"
FAILS = "does not hold"
TIE = "tie"
UNTESTABLE = "not testable here"


@dataclass(frozen=True)
class RunSpec:
    """One run: what to compute, and from which seed.

    Attributes
    ----------
    parameters : tuple of (str, str or number or None)
        Names and values, the columns of the table that tell this run from the others.
    seed : int
        Draws the data, the order of their columns, and what is random in the method.
    """

    parameters: tuple[tuple[str, Scalar], ...]
    seed: int

    @classmethod
    def of(cls, seed: int, parameters: Mapping[str, Scalar]) -> RunSpec:
        """Make a spec of a mapping."""
        return cls(tuple(parameters.items()), int(seed))

    def __getitem__(self, name: str) -> Any:
        return dict(self.parameters)[name]

    def __str__(self) -> str:
        given = " ".join(f"{name}={value}" for name, value in self.parameters if value is not None)
        return f"{given} seed={self.seed}".strip()


@dataclass(frozen=True)
class Plan:
    """How much of an experiment to run.

    Attributes
    ----------
    quick : bool
        A few small runs, in seconds: to see that all works, not to learn anything.
    n_runs : int or None
        Data sets per setting; None for the number of the paper (or a few, when quick).
    seed : int
        First seed; the others follow.
    methods : tuple of str
        Methods to add to those of the experiment: registered names, or "module:factory".
    data : str or None
        For experiments on a real data set: another one, a registered name or "module:function".
    """

    quick: bool = False
    n_runs: int | None = None
    seed: int = 0
    methods: tuple[str, ...] = ()
    data: str | None = None

    def seeds(self, full: int, quick: int = 2) -> range:
        """Seeds of the data sets of one setting, `full` of them unless the plan says otherwise."""
        count = self.n_runs if self.n_runs is not None else (quick if self.quick else full)
        return range(self.seed, self.seed + count)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and what became of it.

    Attributes
    ----------
    text : str
        What the paper says.
    verdict : str
        "holds", "does not hold", "tie" (the data do not tell) or "not testable here".
    why : str
        The reason, with the test that was applied.
    ours, paper : str
        The figures behind it.
    """

    text: str
    verdict: str
    why: str
    ours: str = ""
    paper: str = ""


def verdict(holds: bool) -> str:
    """Say whether a claim holds."""
    return HOLDS if holds else FAILS


@dataclass(frozen=True)
class Table:
    """A table to be shown: every cell is text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]] = field(default_factory=list)


class Experiment(ABC):
    """One table or figure of the paper.

    A subclass names the columns of its table, lists its runs, and turns one run into rows. What is shown is
    computed from the table alone.

    Attributes
    ----------
    name, title, paper, question : str
        Name on the command line, title on the page, place in the paper, and what it must show.
    parameters : tuple of str
        Columns that tell a run from the others, beside the seed.
    values : tuple of str
        Columns that a run fills, in one row or several.
    needs_data : bool
        Whether it reads files of the directory GSPPCA_DATA.
    notes : str
        Where this leaves the paper and why the figures differ; paragraphs of plain text.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    question: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]]
    values: ClassVar[tuple[str, ...]]
    needs_data: ClassVar[bool] = False
    notes: ClassVar[str] = ""

    @abstractmethod
    def runs(self, plan: Plan) -> Iterator[RunSpec]:
        """List the runs; each once, in the order of the table."""

    @abstractmethod
    def run(self, spec: RunSpec) -> list[Row]:
        """Do one run; every row has the columns `values`."""

    @abstractmethod
    def summary(self, rows: Any) -> list[Table]:
        """Tables of the page, from a pandas DataFrame of all rows."""

    @abstractmethod
    def figure(self, rows: Any) -> Any:
        """Figure of the page, a matplotlib Figure."""

    @abstractmethod
    def claims(self, rows: Any) -> list[Claim]:
        """Claims of the paper, judged by the rows."""
