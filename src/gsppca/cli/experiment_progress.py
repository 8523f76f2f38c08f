"""A progress bar for experiments: the events of `gsppca.progress`, shown by rich."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gsppca.progress import Event, listening

PREFIX = "experiment "  # steps of the runner; the methods inside a run have events of their own


@contextmanager
def shown_progress() -> Iterator[Callable[[str], None]]:
    """Show the runs done and left while the block runs; yields a function that prints a line."""
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        tasks: dict[str, int] = {}

        def update(event: Event) -> None:
            if not event.step.startswith(PREFIX):
                return
            if event.step not in tasks:
                tasks[event.step] = bar.add_task(event.step.removeprefix(PREFIX), total=event.total)
            bar.update(tasks[event.step], completed=event.done, total=event.total)  # type: ignore[arg-type]

        with listening(update):
            yield lambda text: console.print(text, soft_wrap=True)
