"""How the command line behaves: light to start, one line for an error, the right exit code, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gsppca.cli import main
from gsppca.cli.errors import one_line
from gsppca.cli.options import ModelOptions
from gsppca.estimator import GSPPCA

SOURCE = Path(sys.modules["gsppca"].__file__).parents[1]
COMMANDS = ("info", "fit", "transform", "compare", "demo")
HEAVY = ("numpy", "scipy", "sklearn", "pandas", "matplotlib", "pyarrow", "anndata")


def child(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "80"}
    command = [sys.executable, "-m", "gsppca", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, **options)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["fit", "--help"], ["fit", "--nope"]])
def test_nothing_heavy_is_imported_before_the_arguments_are_parsed(arguments):
    code = (
        "import sys; from gsppca.cli import main; main(sys.argv[1:]);"
        f"sys.stderr.write('LOADED ' + ' '.join(name for name in {HEAVY} if name in sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    result = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment)
    assert result.stderr.rsplit("LOADED", 1)[1].strip() == ""


def test_help_has_the_options_and_examples_at_80_columns(call):
    code, out, _ = call("--help")
    assert code == 0
    for command in (*COMMANDS, "experiment", "--install-completion", "--version"):
        assert command in out
    assert "gsppca fit data.csv -o results --report" in out  # the default: no number to choose
    for command in COMMANDS:
        code, out, _ = call(command, "--help")
        assert code == 0
        assert max(map(len, out.splitlines())) <= 80
        examples = out.rsplit("Examples", 1)[1]
        assert f"gsppca {command}" in examples
        for option in ("--json", "--quiet", "--verbose"):
            assert option in out
    assert "Excel" in call("fit", "--help")[1]
    assert "--no-transpose leaves out the warning" in " ".join(call("info", "--help")[1].replace("│", "").split())


def test_every_model_option_is_a_parameter_of_the_class():
    options = ModelOptions(method="paper", seed=1)
    assert set(options.parameters()) <= set(GSPPCA().get_params())


def test_version(call):
    import gsppca

    assert call("--version")[1].strip() == gsppca.__version__


def test_completion_knows_the_commands_and_options():
    from gsppca.cli.app import app

    script = app.generate_completion(shell="bash")
    for word in (*COMMANDS, "--n-components", "--transpose"):
        assert word in script


USAGE = {
    "no such command": ["fitt", "x.csv"],
    "no such option": ["fit", "x.csv", "--nope"],
    "no file": ["fit"],
    "no such choice": ["fit", "x.csv", "--header", "maybe"],
    "size": ["fit", "x.csv", "--size", "large"],
    "fraction": ["fit", "x.csv", "--size", "1.5"],
    "components": ["fit", "x.csv", "-d", "2.5"],
    "method": ["fit", "x.csv", "--method", "magic"],
    "noise": ["fit", "x.csv", "--method", "paper", "--set", "method__noise_variance=-1"],
    "parameter": ["fit", "x.csv", "--set", "colour=red"],
    "no value": ["fit", "x.csv", "--set", "colour"],
    "report without folder": ["fit", "x.csv", "--report"],
    "components of a comparison": ["compare", "x.csv", "-d", "many"],
}


@pytest.mark.parametrize("arguments", USAGE.values(), ids=USAGE)
def test_what_is_not_understood_is_exit_code_two(call, arguments):
    code, out, err = call(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("gsppca: ")
    assert err.count("\n") == 1
    assert "n_features_to_select must" not in err


def test_a_word_too_many_is_named(call, table):
    code, out, err = call("fit", table, "-o", "results", "--report", "page.html")
    assert (code, out) == (2, "")
    assert err == "gsppca: --report takes no value, got 'page.html': leave it out. See: gsppca fit --help\n"
    code, out, err = call("info", table, "other.csv")
    assert (code, out) == (2, "")
    assert err.startswith("gsppca: 'other.csv' is more than gsppca info takes: leave it out, or run it once for each")


def test_wrong_files_are_exit_code_one_and_one_line(call, tmp_path, table):
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (tmp_path / "text.csv").write_text("a,b\n1,2\n3,x\n")
    (tmp_path / "nan.csv").write_text("a,b\n1,2\n3,\n")
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n3,4\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "few.csv").write_text("a,b\n1,2\n")
    (tmp_path / "wrong.parquet").write_text("a,b\n1,2\n")
    said = {
        "ragged.csv": "row 2 (line 3) has 1 columns",
        "text.csv": "row 2 (line 3), column 2 ('b'): 'x' is not a number",
        "nan.csv": "row 2, column 2 ('b'): the value is missing",
        "twice.csv": "columns 1 and 2 have the same name",
        "empty.csv": "the file is empty",
        "few.csv": "few.csv: only 1 sample in the file, at least 2 are needed",
        "wrong.parquet": "not a file of the format parquet",
        "tabel.csv": "there is no such file. Did you mean",
    }
    for name, words in said.items():
        for command in (("fit",), ("compare",)):
            code, out, err = call(*command, tmp_path / name, "-q")
            assert (code, out) == (1, ""), name
            assert words in err, err
            first, *others = err.splitlines()
            assert first.startswith("gsppca: ")
            assert not others or others[-1].startswith(f"  gsppca {command[0]} {tmp_path / name}")
            assert "Traceback" not in err
    code, _, err = call("fit", table, "--drop", "kind", "--size", 100)
    assert code == 1
    assert err.startswith("gsppca: --size must be")


def test_no_rights(call, table, tmp_path, monkeypatch):
    def refuse(self, *args, **options):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    code, _, err = call("fit", table)
    assert code == 1
    assert f"{table}: no right to read or write it" in err


def test_a_traceback_only_when_asked_for(call, table):
    assert "Traceback" not in call("fit", table, "-v")[2]
    for flag in ("--debug", "-vv"):
        code, _, err = call("fit", table, flag)
        assert code == 1
        assert "Traceback" in err
        assert err.splitlines()[-3].startswith("gsppca: ")
        assert err.splitlines()[-1] == f"  gsppca fit {table} {flag} --label kind"


def test_bugs_are_owned_up_to():
    assert one_line(ZeroDivisionError("oh")).startswith("this should not happen (ZeroDivisionError: oh)")
    assert one_line(MemoryError()).startswith("not enough memory")
    assert one_line(ImportError("x needs y;\n install it")) == "x needs y; install it"


def test_without_its_packages_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "cyclopts", None)
    assert main(["--help"]) == 1
    assert "pip install 'gsppca[cli]'" in capsys.readouterr().err


def test_names_are_text_not_markup_nor_commands_to_the_terminal(call, tmp_path, numbers):
    X, _, _ = numbers
    names = [f"[red]v{i}[/red]" for i in range(19)] + ["\x1b[31mred"]
    with (tmp_path / "t.csv").open("w") as file:
        file.write(",".join(names) + "\n")
        file.writelines(",".join(map(str, row)) + "\n" for row in X.tolist())
    code, out, _ = call("fit", tmp_path / "t.csv", "-d", 2, "--size", 20)
    assert code == 0
    assert "[red]v" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_fits_leave_nothing(tmp_path, number):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "large.npy", rng.normal(size=(1500, 800)))
    # No tolerance and no end: the fit runs until it is stopped.
    endless = ["--method", "paper", "-d", "10", "-v", "--set", "method__noise_variance=0.5"]
    endless += ["--set", "method__tol=0", "--set", "method__max_iter=1000000"]
    command = [sys.executable, "-m", "gsppca", "fit", "large.npy", "-o", "out", *endless]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    steps = []
    while not (steps and steps[-1].startswith("start of the loadings")):  # said when the long run begins
        steps.append(process.stderr.readline())
        assert steps[-1], steps
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else 143)
    assert out == ""
    assert "Traceback" not in err
    if number == signal.SIGINT:
        assert err == "gsppca: interrupted: nothing was written.\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["large.npy"]


def test_an_interruption_while_writing_leaves_nothing(call, table, tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(GSPPCA, "save", interrupt)
    code, out, err = call("fit", table, "--drop", "kind", "-o", tmp_path / "out")
    assert (code, out) == (130, "")
    assert "interrupted: nothing was written" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv"]


def test_not_on_a_terminal_there_is_no_bar(call, table):
    result = child("fit", table, "-d", 2, "--drop", "kind")
    assert result.returncode == 0
    assert result.stderr == ""
    assert "\x1b" not in result.stdout
    code, out, err = call("fit", table, "-d", 2, "--drop", "kind", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["n_components"] == 2


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are of Unix")
@pytest.mark.parametrize("notebook", [False, True])
def test_on_a_terminal_the_steps_are_shown_and_removed(table, notebook):
    """In a cell of a notebook, which cannot remove them, they are not shown."""
    import pty

    leader, follower = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "80", "TERM": "xterm"}
    environment.pop("JPY_PARENT_PID", None)
    if notebook:
        environment["JPY_PARENT_PID"] = "1"
    command = [sys.executable, "-m", "gsppca", "fit", str(table), "-d", "2", "--drop", "kind", "--json"]
    command += ["--method", "paper"]
    process = subprocess.Popen(command, stderr=follower, stdout=subprocess.PIPE, env=environment)
    os.close(follower)
    shown = b""
    while True:
        try:
            more = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        shown += more
    os.close(leader)
    assert process.wait(60) == 0
    assert json.loads(process.stdout.read())["n_components"] == 2
    process.stdout.close()
    if notebook:
        assert shown == b""
        return
    for step in (b"reading", b"variational EM", b"evidence path", b"active"):
        assert step in shown


def test_a_reader_that_stops_early_is_no_error(table):
    read, write = os.pipe()
    os.close(read)  # as by `| head`, before the first line
    command = [sys.executable, "-m", "gsppca", "info", str(table), "--json"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    result = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, env=environment)
    os.close(write)
    assert (result.returncode, result.stderr) == (1, "")
