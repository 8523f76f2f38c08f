"""Progress events of long steps, for a progress bar or a log.

    with listening(lambda event: print(event.step, event.done, event.total)):
        GSPPCA().fit(X)

Without a listener an event costs one look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """One step forward.

    Attributes
    ----------
    step : str
        What is going on, in words: "variational EM".
    done : int
        How many of its units are done.
    total : int or None
        How many there are at most; None if it is not known.
    detail : str
        What to show beside it: "bound -1234.5, 200 of 784 variables active".
    """

    step: str
    done: int
    total: int | None = None
    detail: str = ""


Listener = Callable[[Event], None]

_listener: ContextVar[Listener | None] = ContextVar("gsppca_progress", default=None)


def is_heard() -> bool:
    """Whether anybody listens: whether a costly detail is worth computing."""
    return _listener.get() is not None


def tell(step: str, done: int, total: int | None = None, detail: str = "") -> None:
    """Tell the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(Event(step, done, total, detail))


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send the events inside the block to `listener`."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def printed(verbose: int, name: str) -> Iterator[None]:
    """Print the events inside the block: with 1 each step once, with 2 every event; with 0 nothing changes."""
    if not verbose:
        yield
        return
    outer, last = _listener.get(), ""

    def show(event: Event) -> None:
        nonlocal last
        if verbose > 1 or event.step != last:
            last = event.step
            count = f" {event.done}" if event.done else ""
            detail = f": {event.detail}" if event.detail else ""
            print(f"[{name}] {event.step}{count}{detail}", flush=True)  # noqa: T201
        if outer is not None:
            outer(event)

    with listening(show):
        yield
