"""What a command shows: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Column, Table
from rich.text import Text

from gsppca.cli.options import Talk
from gsppca.progress import Event, listening


class Screen:
    """Where a command writes; what the user asked for decides what is written.

    Parameters
    ----------
    talk : Talk
        What the user asked for.
    """

    def __init__(self, talk: Talk):
        self.talk = talk
        # Names of variables are text, never markup.
        plain: dict[str, Any] = {"markup": False, "highlight": False, "emoji": False, "soft_wrap": False}
        self.out = Console(**plain)
        self.err = Console(stderr=True, **plain)
        self.warnings: list[str] = []

    @property
    def is_human(self) -> bool:
        """Whether results are shown to a person: not as JSON, and not quietly."""
        return not self.talk.quiet and not self.talk.json

    def line(self, text: str = "") -> None:
        """Show a line of the result."""
        if self.is_human:
            self.out.print(printable(text), soft_wrap=True)  # a command is to be copied in one piece

    def note(self, text: str) -> None:
        """Tell the user about the run, if more is to be said."""
        if self.talk.verbose and not self.talk.quiet:
            self.err.print(printable(text), soft_wrap=True)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Show a table of the result; numbers to the right."""
        if not self.is_human:
            return
        table = Table(box=None, pad_edge=False, header_style="bold")
        for i, name in enumerate(head):
            numeric = all(_is_figure(row[i]) for row in rows)
            table.add_column(name, justify="right" if numeric else "left", overflow="ellipsis", no_wrap=True)
        for row in rows:
            table.add_row(*(Text(printable(figure(value))) for value in row))
        self.out.print(table)

    def result(self, document: dict[str, Any]) -> None:
        """Show the result as JSON, if that was asked for."""
        if self.talk.json:
            content = json.dumps(finite({**document, "warnings": self.warnings}), indent=1, allow_nan=False)
            self.out.file.write(content + "\n")

    @contextmanager
    def working(self) -> Iterator[None]:
        """Show progress on a terminal, and warnings as lines afterwards."""
        with warnings.catch_warnings(record=True) as caught, ExitStack() as stack:
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            bars = None
            if not self.talk.quiet:
                if self.err.is_terminal:
                    bars = stack.enter_context(_bars(self.err))
                stack.enter_context(listening(_Listener(self, bars)))
            yield
        for warning in caught:
            if issubclass(warning.category, UserWarning):
                self.warnings.append(" ".join(str(warning.message).split()))
        if not self.talk.quiet:
            for message in dict.fromkeys(self.warnings):
                self.err.print(f"warning: {printable(message)}", soft_wrap=True)


class _Listener:
    """Moves the bars, one per step; in verbose mode says when a step is done."""

    def __init__(self, screen: Screen, bars: Progress | None):
        self.screen, self.bars = screen, bars
        self.tasks: dict[str, Any] = {}
        self.last: Event | None = None
        self.since = time.perf_counter()

    def __call__(self, event: Event) -> None:
        if self.last is not None and self.last.step != event.step:
            self._close(self.last)
        self.last = event
        if self.bars is None:
            return
        if event.step not in self.tasks:
            self.tasks[event.step] = self.bars.add_task(event.step, detail="")
        at_most = "" if event.total is None else f"{event.done}/{event.total} "
        self.bars.update(
            self.tasks[event.step], completed=event.done, total=event.total, detail=printable(at_most + event.detail)
        )

    def _close(self, event: Event) -> None:
        now = time.perf_counter()
        detail = f", {event.detail}" if event.detail else ""
        self.screen.note(f"{event.step}: {event.done or 1}{detail}, {now - self.since:.2f} s")
        self.since = now
        if self.bars is not None:
            total = event.total or 1
            self.bars.update(self.tasks[event.step], completed=total, total=total)


def _bars(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}", table_column=Column(no_wrap=True), markup=False),
        BarColumn(bar_width=16),
        TextColumn(
            "{task.fields[detail]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"), markup=False
        ),
        console=console,
        transient=True,
        expand=True,
        refresh_per_second=8,
    )


def printable(text: str) -> str:
    """Text without what a terminal would take for commands."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _is_figure(value: Any) -> bool:
    return not isinstance(value, str) or value.lstrip("-").replace(".", "", 1).isdecimal() or value in ("", "-")


def figure(value: Any, form: str = ".4g") -> str:
    """A number for people: four digits that matter, or in another form."""
    if value is None:
        return ""
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:{form}}" if abs(value) < 1e5 else f"{value:.0f}"
    return str(value)


def finite(value: Any) -> Any:
    """What JSON can hold: numbers that are not finite become null."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
