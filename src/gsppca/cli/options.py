"""Options that several commands share; their help is made of these docstrings."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from gsppca.cli.errors import UsageError, in_options

if TYPE_CHECKING:
    from gsppca import GSPPCA

typed: ContextVar[tuple[str, ...]] = ContextVar("gsppca_arguments", default=())  # what is being run, for the report

MODEL = Group("Model", sort_key=2)
READING = Group("Reading the file", sort_key=3)
OUTPUT = Group("Output", sort_key=4)


def count(number: int, what: str) -> str:
    """A number of things, in words: 1 component, 2 components."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def number_or_word(value: str) -> int | float | str:
    """What was typed as a number if it is one: the library says which words it knows."""
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def _convert(_kind: Any, tokens: Sequence[Any]) -> int | float | str:
    return number_or_word(tokens[0].value)


Value = Annotated[int | float | str, Parameter(converter=_convert, n_tokens=1)]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Parameters of `GSPPCA`.

    Parameters
    ----------
    n_components : int or "auto"
        Dimension d of the latent space; "auto" counts the eigenvalues that noise alone would not reach.
    size : int, float or str
        How many variables to select: a rule ("evidence", "fdr" or "r2"), a number, or a fraction below 1.
    scale : bool
        Standardise the columns: for columns in different units.
    ranking : str, optional
        How variables are ranked: "noise-path", or "vem" as in the paper.
    evidence : str, optional
        Which evidence is maximised: "joint" (the default), "noiseless", which is the paper's procedure, or "noisy".
    noise_variance : float or str, optional
        Variance of the variables that are not selected: "profile" (one for all) or "own" (one for each); with another
        evidence than "joint" also "median", "ml", "bias_corrected", or a number.
    seed : int, optional
        For the random steps, where there are any.
    set : tuple of str
        Any other parameter of the class GSPPCA, such as scale=ranking or max_iter=200; can be given several times.
    """

    n_components: Annotated[Value, Parameter(name=["--n-components", "-d"], metavar="INT|auto")] = "auto"
    size: Annotated[Value, Parameter(metavar="NUMBER|RULE")] = "evidence"
    scale: bool = False
    ranking: str | None = None
    evidence: str | None = None
    noise_variance: Annotated[Value | None, Parameter(metavar="NUMBER|RULE")] = None
    seed: int | None = None
    set: Annotated[tuple[str, ...], Parameter(metavar="NAME=VALUE")] = ()

    def parameters(self) -> dict[str, Any]:
        """Parameters of `GSPPCA`, those that were said; defaults and checks are the library's."""
        named = {
            "n_components": self.n_components,
            "n_features_to_select": self.size,
            "scale": self.scale,
            "ranking": self.ranking,
            "evidence": self.evidence,
            "noise_variance": self.noise_variance,
            "random_state": self.seed,
        }
        chosen = {name: value for name, value in named.items() if value is not None}
        for text in self.set:
            name, equals, value = text.partition("=")
            if not equals:
                raise UsageError(f"--set must be NAME=VALUE, got {text!r}. For example --set max_iter=200.")
            chosen[name] = {"true": True, "false": False}.get(value.lower(), number_or_word(value))
        return chosen

    def model(self) -> GSPPCA:
        """Make the model, and refuse parameters that no data could make right: before a large file is read."""
        from gsppca import GSPPCA
        from gsppca.settings import resolved_settings

        try:
            model = GSPPCA().set_params(**self.parameters())
            resolved_settings(model)
        except ValueError as error:
            raise UsageError(in_options(str(error))) from error
        return model


@dataclass(frozen=True, kw_only=True)
class Talk:
    """How much is said.

    Parameters
    ----------
    json : bool
        Print the result as JSON, for programs.
    quiet : bool
        Say nothing but errors.
    verbose : int
        Say more: each step and its time. Twice, the traceback of an error too.
    debug : bool
        Show the traceback of an error.
    """

    json: Annotated[bool, Parameter(negative=())] = False
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())] = False
    verbose: Annotated[int, Parameter(name=["--verbose", "-v"], count=True)] = 0
    debug: Annotated[bool, Parameter(negative=())] = False
