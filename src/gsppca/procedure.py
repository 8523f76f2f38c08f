"""From the words of a user to the objects that do the work, once; and the record of what they decided."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.checks import check_choice, check_count, is_integer, is_number
from gsppca.components.imputation import Imputation
from gsppca.frame import Frame, frame_of
from gsppca.methods import METHODS, Method
from gsppca.results import Chosen, Found, Wishes
from gsppca.rules import RULES, Rule, Size

if TYPE_CHECKING:
    from gsppca.variable_selection import VariableSelection

MethodWord = Literal["joint", "paper"]
RuleWord = Literal["auto", "relevant", "core", "fdr", "r2"]
Columns = str | Sequence[str] | Sequence[int] | npt.NDArray[Any]


@dataclass(frozen=True)
class Plan:
    """What an estimator is to do, every word replaced by what it stands for.

    Attributes
    ----------
    n_components : int or None
        Dimension of the latent space; None lets the method choose.
    method : Method
        Ranks and judges.
    rule : Rule
        Chooses.
    scale, robust, missing, random_state
        As in `GSPPCA`.
    """

    n_components: int | None
    method: Method
    rule: Rule
    scale: bool
    robust: bool
    missing: str
    random_state: Any

    def generator(self) -> np.random.Generator:
        """Random numbers for the rule."""
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31))

    def frame(self, X: Any) -> Frame:
        """Prepare validated data."""
        return frame_of(X, scale=self.scale, robust=self.robust, missing=self.missing, n_components=self.n_components)


@dataclass(frozen=True)
class Fitted:
    """All that a fit decided: who chose, what was found, what to warn of.

    Attributes
    ----------
    frame : Frame or None
        The data; None once the model has left the memory it was fitted in.
    found : Found
        What the method found.
    chosen : Chosen
        What the rule chose.
    varying : ndarray of shape (n_all_features,)
        Which columns of X vary.
    column_squares : ndarray of shape (n_varying,)
        Sums of squares of the columns, by which the data is known again.
    imputation : Imputation or None
        What filled the missing entries.
    """

    frame: Frame | None
    found: Found
    chosen: Chosen
    varying: BoolArray
    column_squares: FloatArray
    imputation: Imputation | None

    @classmethod
    def of(cls, frame: Frame, found: Found, chosen: Chosen) -> Fitted:
        """Record a fit."""
        return cls(frame, found, chosen, frame.varying, frame.data.column_squares, frame.imputation)

    def without_data(self) -> Fitted:
        """The same record, as it leaves the memory it was made in: neither the data nor numbers of its rows."""
        found, chosen = self.found, self.chosen
        if found.core is not None:
            found = replace(found, core=found.core.without_rows())
        if chosen.core is not None:
            chosen = replace(chosen, core=chosen.core.without_rows())
        imputation = self.imputation and replace(self.imputation, X=self.imputation.X[:0])
        return replace(self, frame=None, found=found, chosen=chosen, imputation=imputation)


def plan_of(model: VariableSelection) -> Plan:
    """Check the parameters that no data could make right, and replace words by the objects they stand for."""
    if not is_integer(model.n_components):
        check_choice("n_components", model.n_components, ("auto",), "a positive integer")
    for name, advice in (("scale", "True standardises the columns."), ("robust", "True clips the columns.")):
        if not isinstance(getattr(model, name), bool | np.bool_):
            raise ValueError(f"{name} must be True or False, got {getattr(model, name)!r}. {advice}")
    check_choice("missing", model.missing, ("error", "impute"))
    if not isinstance(model.verbose, bool | np.bool_):
        check_count("verbose", model.verbose, 0, advice="0 is silent.")
    method, rule = method_of(model.method), rule_of(model.n_features_to_select)
    for step in (method, rule):
        check = getattr(step, "check", None)
        if check is not None:
            check()
    return Plan(
        n_components=int(model.n_components) if is_integer(model.n_components) else None,
        method=method,
        rule=rule,
        scale=bool(model.scale),
        robust=bool(model.robust),
        missing=model.missing,
        random_state=model.random_state,
    )


def method_of(method: Any) -> Method:
    """Return the method that a word stands for, or the object itself."""
    if isinstance(method, str) or not callable(getattr(method, "find", None)):
        check_choice("method", method, tuple(METHODS), "a method such as Paper(tol=1e-8)")
        return METHODS[method]()
    return cast(Method, method)


def rule_of(wanted: Any) -> Rule:
    """Return the rule that a word or number stands for, or the object itself."""
    if is_number(wanted):
        return Size(wanted)
    if isinstance(wanted, str) or not callable(getattr(wanted, "select", None)):
        check_choice("n_features_to_select", wanted, tuple(RULES), "a number, a fraction, or a rule such as Core(0.8)")
        return cast(Rule, RULES[wanted]())
    return cast(Rule, wanted)


def wishes_of(model: VariableSelection, frame: Frame) -> Wishes:
    """Return the variables to include and exclude, as places among the columns that vary."""
    names = getattr(model, "feature_names_in_", None)
    masks = {name: _mask(name, getattr(model, name), frame, names) for name in ("include", "exclude")}
    both = np.flatnonzero(masks["include"] & masks["exclude"])
    if len(both):
        raise ValueError(
            f"include and exclude must not share a variable, both have {_shown(both[0], names)}. "
            "Remove it from one of them."
        )
    constant = np.flatnonzero(masks["include"] & ~frame.varying)
    if len(constant):
        raise ValueError(
            f"include names {_shown(constant[0], names)}, which is constant and carries no structure. Leave it out."
        )
    if not (frame.varying & ~masks["exclude"]).any():
        raise ValueError("exclude must leave at least one column that varies. Exclude fewer columns.")
    include, exclude = (np.flatnonzero(mask[frame.varying]) for mask in (masks["include"], masks["exclude"]))
    return Wishes(_by_variance(include, frame), exclude)


def _by_variance(places: IntArray, frame: Frame) -> IntArray:
    """An order that depends on the data and not on the order of columns."""
    return places[np.argsort(-frame.data.column_squares[places], kind="stable")]


def _mask(argument: str, wanted: Any, frame: Frame, names: Any) -> BoolArray:
    p = len(frame.varying)
    mask = np.zeros(p, dtype=bool)
    if wanted is None:
        return mask
    values = np.atleast_1d(np.asarray(wanted))
    allowed = f"names, indices from 0 to {p - 1}, or a mask of {p} booleans"
    if values.ndim != 1:
        raise ValueError(f"{argument} must hold {allowed}, got an array of shape {values.shape}.")
    if values.dtype == bool:
        if len(values) != p:
            raise ValueError(f"{argument} must hold {allowed}, got {len(values)} booleans.")
        return values.copy()
    if not len(values):
        return mask
    if values.dtype.kind in "iu":
        if values.min() < -p or values.max() >= p:
            bad = values[(values < -p) | (values >= p)][0]
            raise ValueError(f"{argument} must hold {allowed}, got the index {bad}. X has {p} columns.")
        mask[values] = True
        return mask
    if names is None or not all(isinstance(value, str) for value in values.tolist()):
        raise ValueError(
            f"{argument} must hold {allowed}, got {wanted!r}"
            f"{'; X has no column names. Give a data frame, or indices.' if names is None else '.'}"
        )
    known = {name: place for place, name in enumerate(names)}
    for value in values.tolist():
        if value not in known:
            near = difflib.get_close_matches(value, list(known), n=3)
            meant = (
                f" The nearest {'name is' if len(near) == 1 else 'names are'} {', '.join(map(repr, near))}."
                if near
                else ""
            )
            raise ValueError(f"{argument} names {value!r}, which is no column of X.{meant} Correct it or leave it out.")
        mask[known[value]] = True
    return mask


def _shown(place: Any, names: Any) -> str:
    return f"column {place}" if names is None else repr(names[place])
