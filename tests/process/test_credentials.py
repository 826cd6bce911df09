"""Each place of the table of credentials is hidden from a process of the project."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import pytest

from verifygate.process.credentials import KEEPERS, hidden, without_credentials
from verifygate.process.isolation import LAYERS, Isolation, Reach, granted
from verifygate.process.subject import Subject

GRANTED = granted(Isolation.REQUIRED, Reach(Path(__file__).resolve().parents[2]))
confined = pytest.mark.skipif(set(GRANTED) != set(LAYERS), reason="this kernel does not grant all layers")
BY_HOME = {keeper.name: keeper.home.split() for keeper in KEEPERS if keeper.home}
BY_VARIABLE = {name: keeper.name for keeper in KEEPERS for name in keeper.variables.split()}
READ = """
import json, pathlib, sys
found = []
for name in json.load(open("asked.json")):
    try:
        found += [name] if pathlib.Path(name).read_text() == "secret" else []
    except OSError:
        pass
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """What a process reads of all of them at once, by how it is isolated; as it is without, too."""
    top = tmp_path_factory.mktemp("world")
    project, home = top / "project", top / "home"
    for folder in (project, home, top / "tmp"):
        folder.mkdir()
    variables = {name: str(top / "elsewhere" / name.lower()) for name in BY_VARIABLE}
    places = [home / name for names in BY_HOME.values() for name in names]
    files = [place / "token" if place in (home / ".ssh", home / ".aws") else place for place in places]
    files += [*map(Path, variables.values()), top / ".env", top / "config/gh"]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("secret")
    (project / ".env").write_text("secret")
    (project / "asked.json").write_text(json.dumps([str(file) for file in (*files, project / ".env")]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(top / "tmp"))
        for name, value in {**variables, "HOME": str(home), "XDG_CONFIG_HOME": str(top / "config")}.items():
            patch.setenv(name, value)
        read = {}
        for how in ("off", "auto", "required"):
            done = Subject(project, Path(sys.executable), isolation=how).run(["-c", READ], seconds=60)
            assert done.exit_code == 0, done.stderr_tail
            read[how] = {os.path.relpath(name, top) for name in json.loads(done.stdout_tail)}
    return read


@confined
@pytest.mark.parametrize("keeper", BY_HOME)
def test_what_a_program_keeps_in_the_home_folder(world: dict[str, set[str]], keeper: str) -> None:
    names = [f"home/{name}" for name in BY_HOME[keeper]]
    for name in names:
        asked = {name, f"{name}/token"}
        assert asked & world["off"]
        assert not asked & (world["auto"] | world["required"])


@confined
@pytest.mark.parametrize("variable", BY_VARIABLE)
def test_the_file_that_a_variable_names(world: dict[str, set[str]], variable: str) -> None:
    name = f"elsewhere/{variable.lower()}"
    assert name in world["off"]
    assert name not in world["auto"] | world["required"]


@confined
def test_environment_files_and_another_folder_of_settings(world: dict[str, set[str]]) -> None:
    """The tree's own `.env` belongs to the tests, unless isolation is required."""
    assert {".env", "config/gh", "project/.env"} <= world["off"]
    assert {".env", "config/gh", "project/.env"} & world["auto"] == {"project/.env"}
    assert world["required"] == set()


@pytest.mark.parametrize("place", ["/etc/shadow", "/run/secrets", "/var/run/secrets", "/etc/kubernetes"])
def test_what_the_machine_keeps(tmp_path: Path, place: str) -> None:
    assert place in hidden([tmp_path], {}, tmp_path / "project")


def test_what_somebody_passes_on_is_not_hidden(tmp_path: Path) -> None:
    environment = {"KUBECONFIG": "/a/one:/a/two", "NETRC": "relative"}
    found = hidden([tmp_path], environment, tmp_path / "project")
    assert {"/a/one", "/a/two"} <= set(found)
    assert "relative" not in found
    assert not {"/a/one", "/a/two"} & set(hidden([tmp_path], environment, tmp_path, passed_on=["KUBECONFIG"]))


def test_a_project_inside_such_a_folder_is_not_hidden(tmp_path: Path) -> None:
    assert str(tmp_path / ".docker") not in hidden([tmp_path], {}, tmp_path / ".docker/project")


def test_the_configuration_of_git_without_its_tokens(tmp_path: Path) -> None:
    """As `actions/checkout` leaves it, and with an address that has a token."""
    (tmp_path / "config").write_text(
        '[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic abc\n'
        '[remote "origin"]\n\turl = https://user:token@github.com/a/b\n\tfetch = +refs/heads/*\n'
    )
    (text,) = without_credentials([tmp_path]).values()
    assert "abc" not in text
    assert "token" not in text
    assert "url = https://github.com/a/b" in text
    (tmp_path / "config").write_text('[remote "origin"]\n\turl = git@github.com:a/b\n')
    assert without_credentials([tmp_path]) == {}
