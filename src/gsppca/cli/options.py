"""Options that several commands share; their help is made of these docstrings."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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


def names_of(given: Sequence[str]) -> list[str] | None:
    """Names of variables as they were typed, and those in files (@FILE, one name a line); None if there are none."""
    names: list[str] = []
    for text in given:
        if not text.startswith("@"):
            names.append(text)
            continue
        try:
            lines = Path(text[1:]).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{text[1:]}: the list of names cannot be read ({error}). Give one name a line."
            ) from error
        names += [line.strip() for line in lines if line.strip()]
    return names or None


Value = Annotated[int | float | str, Parameter(converter=_convert, n_tokens=1)]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Parameters of `GSPPCA`.

    Parameters
    ----------
    n_components : int or "auto"
        Dimension d of the latent space; "auto" lets the method choose.
    size : int, float or str
        Which variables to select: "auto" (the relevant ones, or their core where these are most), "relevant", "core",
        "fdr", "r2", a number, or a fraction below 1.
    method : str
        How variables are ranked and judged: by what they share ("joint"), or as in the paper ("paper").
    include : tuple of str
        A variable that must be selected; can be given several times, or as a file of names: @panel.txt.
    exclude : tuple of str
        A variable that must not be selected; can be given several times, or as a file of names: @controls.txt.
    scale : bool
        Standardise the columns: for columns in different units.
    seed : int, optional
        For the random steps, where there are any.
    set : tuple of str
        Any other parameter of the class GSPPCA, its method or rule, such as robust=true, method__tol=1e-8 or
        n_features_to_select__share=0.8; can be given several times.
    """

    n_components: Annotated[Value, Parameter(name=["--n-components", "-d"], metavar="INT|auto")] = "auto"
    size: Annotated[Value, Parameter(metavar="NUMBER|RULE")] = "auto"
    method: Literal["joint", "paper"] = "joint"
    include: Annotated[tuple[str, ...], Parameter(metavar="NAME", negative=())] = ()
    exclude: Annotated[tuple[str, ...], Parameter(metavar="NAME", negative=())] = ()
    scale: bool = False
    seed: int | None = None
    set: Annotated[tuple[str, ...], Parameter(metavar="NAME=VALUE")] = ()

    def parameters(self) -> dict[str, Any]:
        """Parameters of `GSPPCA`, those that were given; defaults and checks are the library's."""
        named = {
            "n_components": self.n_components,
            "n_features_to_select": self.size,
            "method": self.method,
            "include": names_of(self.include),
            "exclude": names_of(self.exclude),
            "scale": self.scale,
            "random_state": self.seed,
        }
        chosen = {name: value for name, value in named.items() if value is not None}
        for text in self.set:
            name, equals, value = text.partition("=")
            if not equals:
                raise UsageError(f"--set must be NAME=VALUE, got {text!r}. For example --set method__tol=1e-8.")
            chosen[name] = {"true": True, "false": False}.get(value.lower(), number_or_word(value))
        return chosen

    def model(self) -> GSPPCA:
        """Make the model, and refuse parameters that no data could make right: before a large file is read."""
        from gsppca import GSPPCA
        from gsppca.procedure import plan_of

        try:
            model = GSPPCA().set_params(**self.parameters())
            plan_of(model)
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
        Only print errors.
    verbose : int
        Print each step and its time. Twice, the traceback of an error too.
    debug : bool
        Show the traceback of an error.
    """

    json: Annotated[bool, Parameter(negative=())] = False
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())] = False
    verbose: Annotated[int, Parameter(name=["--verbose", "-v"], count=True)] = 0
    debug: Annotated[bool, Parameter(negative=())] = False
