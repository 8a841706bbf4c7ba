"""Files of the user: where each system keeps them, their modes, and atomic writes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import platformdirs
import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix
from platformdirs.windows import Windows

from hikidashi.common.files import (
    cache_folder,
    config_folder,
    data_folder,
    make_private,
    replace_file,
    runtime_folder,
    state_folder,
)

Folder = Callable[[], Path]

ALL: dict[str, tuple[Folder, str, str]] = {
    "XDG_DATA_HOME": (data_folder, ".local/share", "Library/Application Support"),
    "XDG_STATE_HOME": (state_folder, ".local/state", "Library/Application Support"),
    "XDG_CACHE_HOME": (cache_folder, ".cache", "Library/Caches"),
    "XDG_CONFIG_HOME": (config_folder, ".config", "Library/Application Support"),
}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for variable in ALL:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def on(system: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose the folders of another system, as platformdirs does when it is imported there."""
    monkeypatch.setattr(platformdirs, "PlatformDirs", system)


def answering(path: Path) -> Callable[[object], str]:
    return lambda _: str(path)


@pytest.mark.parametrize("variable", ALL)
def test_on_linux_they_are_where_they_always_were(variable: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on(Unix, monkeypatch)
    folder, below_home, _ = ALL[variable]
    assert folder() == home / below_home / "hikidashi"


@pytest.mark.parametrize("system", [Unix, MacOS, Windows])
@pytest.mark.parametrize("variable", ALL)
def test_the_environment_decides_on_every_system(
    variable: str, system: type, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(system, monkeypatch)
    monkeypatch.setenv(variable, str(home / "elsewhere"))
    assert ALL[variable][0]() == home / "elsewhere" / "hikidashi"


@pytest.mark.parametrize("variable", ALL)
def test_on_macos_they_are_in_the_library_unless_an_earlier_version_left_some_elsewhere(
    variable: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(MacOS, monkeypatch)
    folder, earlier, library = ALL[variable]
    assert folder() == home / library / "hikidashi"
    (home / earlier / "hikidashi").mkdir(parents=True)
    assert folder() == home / earlier / "hikidashi"
    (home / library / "hikidashi").mkdir(parents=True)
    assert folder() == home / library / "hikidashi"


@pytest.mark.parametrize("variable", ALL)
def test_on_windows_they_are_in_the_local_profile(variable: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on(Windows, monkeypatch)
    monkeypatch.setattr("platformdirs.windows.get_win_folder", answering(home / "Local"))
    assert ALL[variable][0]() == home / "Local" / "hikidashi"


@pytest.mark.parametrize("variable", ALL)
def test_without_a_home_they_are_where_nothing_can_be_written(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(NotADirectoryError):
        ALL[variable][0]().mkdir(parents=True)


def mode_of(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


def test_the_runtime_folder_is_created_for_its_owner_only(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = home / "run"
    base.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(base))
    folder = runtime_folder()
    assert (folder, mode_of(folder)) == (base / "hikidashi", 0o700)
    folder.chmod(0o755)
    assert (runtime_folder(), mode_of(folder)) == (folder, 0o700)


def test_without_a_login_session_it_is_in_the_folder_for_temporary_files(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.chmod(0o700)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(Unix, "user_runtime_dir", str(home / "runtime/hikidashi"))
    folder = runtime_folder()
    assert folder == home / "runtime" / "hikidashi"
    assert (mode_of(folder), mode_of(folder.parent)) == (0o700, 0o700)


def test_a_link_in_its_place_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, target = home / "run", home / "target"
    base.mkdir(mode=0o700)
    target.mkdir()
    (base / "hikidashi").symlink_to(target)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(base))
    with pytest.raises(PermissionError, match="is not a folder"):
        runtime_folder()


def test_another_users_folder_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = home / "run"
    (base / "hikidashi").mkdir(parents=True, mode=0o700)
    base.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(base))
    assert runtime_folder() == base / "hikidashi"
    monkeypatch.setattr(os, "geteuid", lambda: base.stat().st_uid + 1)
    monkeypatch.setattr(Unix, "user_runtime_dir", str(base / "hikidashi"))
    with pytest.raises(PermissionError, match="XDG_RUNTIME_DIR to a folder of your own"):
        runtime_folder()


def test_a_folder_whose_parent_others_can_write_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = home / "run"
    base.mkdir()
    base.chmod(0o777)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(Unix, "user_runtime_dir", str(base / "hikidashi"))
    with pytest.raises(PermissionError, match="Others can write"):
        runtime_folder()
    base.chmod(0o1777)
    assert runtime_folder() == base / "hikidashi"


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    path.chmod(0o640)
    replace_file(path, b"new")
    assert (path.read_bytes(), mode_of(path)) == (b"new", 0o640)
    assert os.listdir(tmp_path) == ["x"]  # noqa: PTH208


def test_a_private_file_and_its_new_folders_are_for_the_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "x"
    replace_file(path, b"1", private=True)
    assert [mode_of(one) for one in (path, path.parent, path.parent.parent)] == [0o600, 0o700, 0o700]
    path.chmod(0o644)
    replace_file(path, b"2", private=True)
    assert (path.read_bytes(), mode_of(path)) == (b"2", 0o600)


def test_a_folder_that_is_missing_is_an_error_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "missing" / "x", b"1")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_made_private_whether_it_is_new_or_not(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    old.touch()
    old.chmod(0o644)
    (tmp_path / "link").symlink_to(old)
    make_private(new)
    make_private(tmp_path / "link")
    assert (mode_of(new), mode_of(old)) == (0o600, 0o600)


def test_what_is_not_a_file_keeps_its_mode(tmp_path: Path) -> None:
    folder, pipe = tmp_path / "folder", tmp_path / "pipe"
    folder.mkdir()
    os.mkfifo(pipe)
    for path in (folder, pipe):
        path.chmod(0o755)
        make_private(path)
        assert mode_of(path) == 0o755
