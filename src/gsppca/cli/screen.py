"""What a command shows: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import os
import re
import textwrap
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table
from rich.text import Text

from gsppca.cli.arguments import corrected
from gsppca.cli.errors import for_terminal
from gsppca.cli.options import Talk, typed
from gsppca.exceptions import MostVariablesWarning
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

    def field(self, name: str, value: str) -> None:
        """Show a line of the result that begins with its name."""
        shown = for_terminal(f"{name or '-':<12}{value}", self.out.file, indent=12)
        self.line(shown if name else " " + shown[1:])

    def paragraph(self, text: str, indent: int = 0) -> None:
        """Show a sentence of the result, wrapped between words at the width of the terminal."""
        if self.is_human:
            self.out.print(wrapped(printable(text), self.out.width, indent), soft_wrap=True)

    def note(self, text: str) -> None:
        """Tell the user about the run, if more is to be said."""
        if self.talk.verbose and not self.talk.quiet:
            self.err.print(printable(text), soft_wrap=True)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Show a table of the result; numbers to the right."""
        if not self.is_human:
            return
        table = Table(box=None, pad_edge=False, header_style="bold")
        cells = [[printable(figure(value)) for value in row] for row in rows]
        natural = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(head)]
        for i, (name, width) in enumerate(zip(head, _shrunken(natural, self.out.width), strict=True)):
            numeric = all(_is_figure(row[i]) for row in rows)
            table.add_column(
                name, justify="right" if numeric else "left", overflow="ellipsis", no_wrap=True, width=width
            )
        for row in cells:
            table.add_row(*map(Text, row))
        self.out.print(table)

    def result(self, document: dict[str, Any]) -> None:
        """Show the result as JSON, if that was asked for."""
        if self.talk.json:
            self.out.file.write(json_lines(finite({**document, "warnings": self.warnings})))

    @contextmanager
    def working(self) -> Iterator[None]:
        """Show progress on a terminal, and warnings: at once if they propose a command, otherwise afterwards."""
        later: list[str] = []

        def heed(message: Warning | str, category: type[Warning], *_place: Any, **_options: Any) -> None:
            # A first proposal, such as to turn the table round, makes the next one pointless.
            first = not any("\n  gsppca " in earlier for earlier in self.warnings)
            warning, message = message, with_command(message, if_rules=first)
            if issubclass(category, UserWarning) and message not in self.warnings:
                self.warnings.append(message)
                if hasattr(warning, "words"):
                    self._warn(message)
                else:
                    later.append(message)

        with warnings.catch_warnings(), ExitStack() as stack:
            warnings.showwarning = heed
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            bars, listener = None, None
            if not self.talk.quiet:
                if self.err.is_terminal and not _in_notebook():
                    bars = stack.enter_context(_bars(self.err))
                listener = _Listener(self, bars)
                stack.enter_context(listening(listener))
            yield
            if listener is not None:
                listener.close()
        for message in later:
            self._warn(message)

    def _warn(self, message: str) -> None:
        if not self.talk.quiet:
            self.err.print(for_terminal(f"warning: {printable(message)}", self.err.file, indent=2), soft_wrap=True)


def with_command(warning: Warning | str, *, if_rules: bool = True) -> str:
    """A warning in one line, and below it the whole command that it proposes, if it does.

    With `if_rules` that may be another rule of selection too.
    """
    text = as_options(" ".join(str(warning).split()))
    arguments, words = typed.get(), getattr(warning, "words", ())
    if if_rules and isinstance(warning, MostVariablesWarning) and arguments[:1] == ("fit",):
        place = arguments.index("--size") if "--size" in arguments else len(arguments)
        arguments, words = (*arguments[:place], *arguments[place + 2 :]), ("--size", "relevant")
    if arguments[:1] == ("compare",):  # the other methods know no missing values
        words = ["mean" if word == "impute" else word for word in words]
    return f"{text}\n  {corrected(arguments, words, has_written=True)}" if words else text


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

    def close(self) -> None:
        """Say that the last step is done."""
        if self.last is not None:
            self._close(self.last)

    def _close(self, event: Event) -> None:
        now = time.perf_counter()
        detail = f", {event.detail}" if event.detail else ""
        self.screen.note(f"{event.step}: {event.done or 1}{detail}, {now - self.since:.2f} s")
        self.since = now
        if self.bars is not None:
            total = event.total or 1
            self.bars.update(self.tasks[event.step], completed=total, total=total)


def _in_notebook() -> bool:
    """Whether a cell such as ``!gsppca fit`` runs this: a terminal to us, but bars that move would pile up there."""
    return "JPY_PARENT_PID" in os.environ  # Jupyter sets it for its kernels, not for its terminals


def _bars(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}", table_column=Column(no_wrap=True), markup=False),
        BarColumn(bar_width=8),
        TextColumn(
            "{task.fields[detail]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"), markup=False
        ),
        TimeElapsedColumn(),  # moves while a slow step is silent
        console=console,
        transient=True,
        expand=True,
        refresh_per_second=8,
    )


def _shrunken(widths: Sequence[int], room: int, gap: int = 2) -> list[int]:
    """Widths of columns that fit: the widest ones give way."""
    kept = list(widths)
    while sum(kept) + gap * (len(kept) - 1) > room and max(kept, default=0) > 8:
        kept[kept.index(max(kept))] -= 1
    return kept


def wrapped(text: str, width: int, indent: int = 0) -> str:
    """Break a text between words; an option stays beside its value, and no long word is cut."""
    kept = re.sub(r"(--?[a-z][\w-]*) (?=[^\s-])", "\\1\N{NO-BREAK SPACE}", text)
    lines = textwrap.wrap(
        kept, max(width, 40), subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def as_options(message: str) -> str:
    """A warning of the library for users of the command line: options instead of parameters."""
    message = message.replace("; supported_ is False", "")
    return re.sub(r"\w+=\S+ \((--[^)]+)\)", r"\1", message)


def printable(text: str) -> str:
    """Text without what a terminal would take for commands."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _is_figure(value: Any) -> bool:
    if not isinstance(value, str):
        return True
    return value in ("", "-") or value.lstrip("-").rstrip("%").replace(".", "", 1).isdecimal()


def figure(value: Any, form: str = ".4g") -> str:
    """A number for people: four digits that matter, or in another form."""
    if value is None:
        return ""
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:{form}}" if abs(value) < 1e5 else f"{value:.0f}"
    return str(value)


def json_lines(document: dict[str, Any]) -> str:
    """JSON with a line for each entry, and for each row of a table: to be read and searched, and not too long."""

    def shown(value: Any) -> str:
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return "[\n  " + ",\n  ".join(json.dumps(row, allow_nan=False) for row in value) + "\n ]"
        return json.dumps(value, allow_nan=False)

    entries = (f" {json.dumps(key)}: {shown(value)}" for key, value in document.items())
    return "{\n" + ",\n".join(entries) + "\n}\n"


def finite(value: Any) -> Any:
    """What JSON can hold: numbers that are not finite become null."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
