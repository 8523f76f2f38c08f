"""The root of the command line: which commands there are, and what happens when one fails."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import BoundArguments, cleandoc
from typing import Any

from cyclopts import App, CycloptsError, Group, Parameter, UnusedCliTokensError

from gsppca import __version__
from gsppca.cli.arguments import spelled
from gsppca.cli.compare import compare
from gsppca.cli.demo import demo
from gsppca.cli.errors import INTERRUPTED, TERMINATED, UsageError, for_terminal, left_over, one_line, with_command
from gsppca.cli.fit import fit
from gsppca.cli.info import info
from gsppca.cli.options import typed
from gsppca.cli.transform import transform

_EXAMPLES = """
    gsppca demo
    gsppca info data.csv
    gsppca fit data.csv -o results --report
    gsppca transform results new.csv -o scores.csv
    gsppca compare data.csv
"""


def _default_in_words(value: Any) -> Any:
    """Leave out the default of switches and lists in the help."""
    return value if value not in (False, 0, ()) else None


app = App(
    name="gsppca",
    help="Find the variables that carry the structure of a table, without labels: globally sparse probabilistic PCA.",
    help_format="plaintext",  # that of the commands: markdown takes a tenth of a second to be imported
    help_epilogue=f"Examples:\n{_EXAMPLES}\nEach command says more:  gsppca fit --help",
    version=__version__,
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative_iterable=(), show_default=_default_in_words),
    group_commands=Group("Commands", sort_key=0),
)


def _examples_of(function: Any) -> str:
    """The examples of a docstring, for the end of its help."""
    lines = cleandoc(function.__doc__).splitlines()
    start = lines.index("Examples") + 2
    return "Examples:\n\n" + "\n".join(lines[start:]).removeprefix("::").strip("\n")


_COMMANDS: tuple[Callable[..., None], ...] = (info, fit, transform, compare, demo)
NAMES = (*(command.__name__ for command in _COMMANDS), "experiment")
for _place, _command in enumerate(_COMMANDS):
    app.command(_command, help_format="markdown", help_epilogue=_examples_of(_command), sort_key=_place)
# The experiments bring pandas along: their module is loaded when they are asked for.
app.command(
    "gsppca.cli.experiment:app", name="experiment", help="Run the experiments of the paper, and show their results."
)
app.register_install_completion_command(help="Install completion for bash, zsh or fish.", group="Options")


def run(arguments: Sequence[str]) -> int:
    """Parse, run, and turn whatever goes wrong into one line and an exit code."""
    loud = "--debug" in arguments
    typed.set(tuple(arguments))
    bound = None
    try:
        with _termination_as_exit():
            _check_command(arguments)
            command, bound, _ = app.parse_args(spelled(arguments), exit_on_error=False, print_error=False)
            loud = loud or _verbosity(bound) > 1
            result = command(*bound.args, **bound.kwargs)
            sys.stdout.flush()
    except UnusedCliTokensError as error:
        return _fail(left_over(str((error.unused_tokens or ["?"])[0]), arguments), 2)
    except CycloptsError as error:
        return _fail(f"{one_line(error)} See: gsppca {_command_name(arguments)}--help", 2)
    except UsageError as error:
        return _fail(one_line(error), 2)
    except KeyboardInterrupt:
        return _fail("interrupted: nothing was written.", INTERRUPTED)
    except BrokenPipeError:
        # Whoever reads the output has enough of it; the interpreter must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    except Exception as error:
        if loud:
            traceback.print_exc()
        return _fail(with_command(error, arguments, bound), 1)
    return result if isinstance(result, int) else 0


def _fail(line: str, code: int) -> int:
    sys.stderr.write(for_terminal(f"gsppca: {line}", sys.stderr) + "\n")
    return code


def _verbosity(bound: BoundArguments) -> int:
    return max((getattr(value, "verbose", 0) for value in bound.arguments.values()), default=0)


def _check_command(arguments: Sequence[str]) -> None:
    """Refuse a command that does not exist, without loading those that do."""
    if arguments and not arguments[0].startswith("-") and arguments[0] not in NAMES:
        from difflib import get_close_matches

        near = get_close_matches(arguments[0], NAMES, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(f"there is no command {arguments[0]!r}.{meant} There are {', '.join(NAMES)}.")


def _command_name(arguments: Sequence[str]) -> str:
    return f"{arguments[0]} " if arguments and arguments[0] in NAMES else ""


@contextmanager
def _termination_as_exit() -> Iterator[None]:
    """Let a polite request to end (SIGTERM) clean up as Ctrl-C does."""

    def stop(_number: int, _frame: Any) -> None:
        raise SystemExit(TERMINATED)

    try:
        previous = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread, as when called from a program
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
