"""Files are written as a whole or not at all: through errors, interruptions, kills and other writers."""

from __future__ import annotations

import multiprocessing
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gsppca
from gsppca._atomic import check_file, check_folder, claim, is_empty, new_file, new_files, new_folder, write_file

NAMES = ("a", "b", "c")
SOURCE = str(Path(gsppca.__file__).parents[1])


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def fill(folder, names, text):
    for name in names:
        (folder / name).write_text(text)


def write(place, action):
    with place as temporary:
        action(temporary)


def fill_and_raise(error):
    def action(temporary):
        fill(temporary, NAMES, "lost")
        raise error

    return action


def test_a_file_is_there_at_the_end_with_ordinary_rights(tmp_path):
    path = tmp_path / "file"
    with new_file(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
    (tmp_path / "plain").write_text("")
    assert path.read_text() == "new"
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode

    def fail(temporary):
        temporary.write_text("newer")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write(new_file(path), fail)
    assert contents(tmp_path) == {"file": "new", "plain": ""}


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    for name, said in (("pipe", "a device or a pipe"), ("dangling", "a link to nowhere"), ("folder", "is a folder")):
        for function in (check_file, lambda path: write_file(path, b"")):
            with pytest.raises(FileExistsError, match=said):
                function(tmp_path / name)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    with pytest.raises(FileExistsError, match="a link to nowhere"):
        check_folder(tmp_path / "dangling")
    with pytest.raises(FileExistsError, match="is a file"):
        check_folder(tmp_path / "file")
    for check in (check_file, check_folder):
        with pytest.raises(NotADirectoryError, match="file is not a folder"):
            check(tmp_path / "file" / "below" / "it")
        with pytest.raises(NotADirectoryError, match="dangling is not a folder"):
            check(tmp_path / "dangling" / "below")
    check_file(tmp_path / "new" / "file")
    check_folder(tmp_path / "new" / "folder")
    assert not (tmp_path / "new").exists()


def test_a_folder_appears_whole(tmp_path):
    folder = tmp_path / "x" / "y" / "z"
    with pytest.raises(KeyboardInterrupt):
        write(new_folder(folder), fill_and_raise(KeyboardInterrupt))
    assert list(tmp_path.iterdir()) == []  # the folders above it neither
    with new_folder(folder) as temporary:
        fill(temporary, NAMES, "1")
        assert not folder.exists()
    assert contents(folder) == dict.fromkeys(NAMES, "1")


def test_a_folder_that_appeared_meanwhile_is_not_replaced(tmp_path):
    folder = tmp_path / "results"

    def late(temporary):
        fill(temporary, NAMES, "late")
        folder.mkdir()
        fill(folder, ["a"], "early")

    with pytest.raises(FileExistsError, match="appeared meanwhile"):
        write(new_folder(folder), late)
    assert contents(folder) == {"a": "early"}
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_files_are_replaced_together_and_others_stay(tmp_path):
    fill(tmp_path, ["a", "b", "mine"], "old")
    with new_files(tmp_path, NAMES, "key") as temporary:
        fill(temporary, ["a", "c"], "new")
        assert contents(tmp_path) == {"a": "old", "b": "old", "mine": "old"}
    assert contents(tmp_path) == {"a": "new", "c": "new", "mine": "old"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "c", "mine"]


STEPS = [("replace", 1), ("replace", 2), ("rename", 1), ("rename", 2), ("unlink", 1), ("mkdir", 1)]


@pytest.mark.parametrize(("method", "number"), STEPS)
@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), KeyboardInterrupt(), SystemExit(143)], ids=repr
)
def test_whatever_fails_all_is_as_before(tmp_path, monkeypatch, method, number, error):
    fill(tmp_path, ["a", "b", "mine"], "old")
    real, calls = getattr(Path, method), []

    def fail(self, *arguments, **options):
        if "moving" not in self.name:  # the lock
            calls.append(self)
            if len(calls) == number:
                raise error
        return real(self, *arguments, **options)

    def fill_then_fail(temporary):
        fill(temporary, ["a", "c"], "new")
        monkeypatch.setattr(Path, method, fail)

    with pytest.raises(type(error)):
        write(new_files(tmp_path, NAMES, "key"), fill_then_fail)
    monkeypatch.undo()
    assert len(calls) >= number
    assert contents(tmp_path) == {"a": "old", "b": "old", "mine": "old"}
    assert is_empty(tmp_path) is False
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "mine"]


KILLED = """
import os, sys, pathlib
from gsppca import _atomic
method, number = sys.argv[2], int(sys.argv[3])
real, calls = getattr(pathlib.Path, method), []
def step(self, *arguments, **options):
    calls.append(self)
    if len(calls) == number:
        os._exit(9)
    return real(self, *arguments, **options)
folder = pathlib.Path(sys.argv[1])
with _atomic.new_files(folder, ("a", "b", "c"), "key") as temporary:
    for name in "ac":
        (temporary / name).write_text("new")
    setattr(pathlib.Path, method, step)
"""


@pytest.mark.parametrize(("method", "number"), [("replace", 1), ("replace", 2), ("rename", 2)])
def test_after_a_kill_the_next_writer_begins_from_the_old_files(tmp_path, method, number):
    fill(tmp_path, ["a", "b", "mine"], "old")
    command = [sys.executable, "-c", KILLED, str(tmp_path), method, str(number)]
    assert subprocess.run(command, env={**os.environ, "PYTHONPATH": SOURCE}).returncode == 9
    assert (tmp_path / ".key.previous").is_dir()
    with new_files(tmp_path, NAMES, "key") as temporary:
        fill(temporary, ["b"], "newest")
    assert contents(tmp_path).items() >= {"b": "newest", "mine": "old"}.items()
    assert not {"a", "c"} & set(contents(tmp_path))
    assert not (tmp_path / ".key.previous").exists()


def test_after_a_kill_the_next_writer_that_fails_puts_the_old_files_back(tmp_path, monkeypatch):
    fill(tmp_path, ["a", "b", "mine"], "old")
    command = [sys.executable, "-c", KILLED, str(tmp_path), "replace", "2"]
    assert subprocess.run(command, env={**os.environ, "PYTHONPATH": SOURCE}).returncode == 9
    assert (tmp_path / "a").read_text() == "new"

    def fail(self, target):
        if target.parent == tmp_path and self.parent.name.endswith(".part"):
            raise KeyboardInterrupt
        return os.replace(self, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        write(new_files(tmp_path, NAMES, "key"), lambda temporary: fill(temporary, NAMES, "newest"))
    assert contents(tmp_path).items() >= {"a": "old", "b": "old", "mine": "old"}.items()


def hold(path, held, release):
    with claim(path):
        held.set()
        release.wait(30)


def test_a_place_is_claimed_once(tmp_path):
    context = multiprocessing.get_context("spawn")
    held, release = context.Event(), context.Event()
    process = context.Process(target=hold, args=(tmp_path / "results", held, release))
    process.start()
    assert held.wait(30)
    with pytest.raises(FileExistsError, match="another process is about to write there"), claim(tmp_path / "results"):
        pass
    with claim(tmp_path / "others"):
        pass
    process.kill()  # a lock does not outlive its process
    process.join()
    with claim(tmp_path / "results"):
        assert is_empty(tmp_path)
    assert list(tmp_path.iterdir()) == []


def write_often(folder, text, n):
    for _ in range(n):
        with new_files(folder, NAMES, "key") as temporary:
            fill(temporary, NAMES, text)


def test_writers_at_the_same_time_leave_the_files_of_one(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_often, args=(tmp_path, text, 30)) for text in "12"]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        time.sleep(0.01)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert len(set(contents(tmp_path).values())) == 1
    assert sorted(contents(tmp_path)) == list(NAMES)
