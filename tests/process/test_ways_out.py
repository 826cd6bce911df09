"""Fifty ways out of a process of the project: none is there where isolation is required, and what is open is said.

Each is tried by root and by somebody else, and each has to work without isolation, or the attempt shows nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import verifygate
from verifygate.process.isolation import LAYERS, Isolation, Reach, granted, in_words

sys.path.append(str(Path(__file__).parent))
from ways_out import MARK, WAYS

GRANTED = granted(Isolation.REQUIRED, Reach(Path(__file__).resolve().parents[2]))
pytestmark = pytest.mark.skipif(set(GRANTED) != set(LAYERS), reason="this kernel does not grant all layers")

NOBODY = 65534
TEMPORARY, SHARED_MEMORY = "/tmp", "/dev/shm"  # noqa: S108 — known to everybody
OPEN_BY_POLICY = {
    "server on this machine": "network (policy)",
    "pipe for a later reader": "the project's own folder",
    "huge file": "the project's own folder",
}
"""What is open with `auto`, and the words of the report's head for it."""
OF_ROOT = (
    "cron",
    "at",
    "folder of the machines settings",
    "program for cores",
    "disk",
    "device made by name",
    "namespace of a process",
)
"""What only root may do without isolation."""
NO_DISK = "/dev/disk"
NEEDS_RUN = ("server in run", "dbus of the session", "systemd", "container engine")
GATE = """
import json, sys
from pathlib import Path
from verifygate.process.subject import Subject
project, isolation, script, scene = sys.argv[1:]
subject = Subject(Path(project), Path(sys.executable), isolation=isolation, guarded=(Path(project, "reports"),))
done = subject.run(["-S", script, scene], seconds=120)
print(json.dumps([done.isolated, done.ending, done.stdout_tail, done.stderr_tail]))
"""
VICTIM = """
import ctypes, os, signal, sys
from pathlib import Path
text = ctypes.create_string_buffer(os.environ["SECRET"].encode())
kept = open(os.environ["HOME"] + "/.ssh/id")
signal.signal(signal.SIGUSR1, lambda *_: Path(os.environ["HOME"], "signalled").touch())
print(ctypes.addressof(text), kept.fileno(), flush=True)
for _ in sys.stdin: pass
"""


@dataclass
class Scene:
    """A project that the gate is installed in, a home folder with a key, servers, and a process with a secret."""

    top: Path
    user: int
    name: str = field(default_factory=lambda: f"verifygate-way-{secrets.token_hex(6)}")
    heard: set[str] = field(default_factory=set)
    places: dict[str, str] = field(default_factory=dict)

    @property
    def command(self) -> list[str]:
        """What goes in front of a command of the gate's user."""
        person = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"]
        return person if self.user != os.geteuid() else []

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.defpath,
            "HOME": self.places["home"],
            "TMPDIR": self.places["temporary"],
            "SSH_AUTH_SOCK": self.places["agent"],
            "VERIFYGATE_CACHE_DIR": f"{self.places['home']}/.cache/verifygate",
        }


def _python() -> str:
    """An interpreter that everybody may start."""
    for place in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        if all(folder.stat().st_mode & stat.S_IXOTH for folder in (Path(place).resolve(), *Path(place).parents)):
            return place
    pytest.skip("no interpreter here may be started by another user")


def _disk() -> str:
    """One that can be read; some are there without a medium."""
    for path in filter(Path.is_block_device, Path("/dev").iterdir()):
        with contextlib.suppress(OSError), path.open("rb") as device:
            if device.read(512):
                return str(path)
    return NO_DISK


@contextlib.contextmanager
def _scene(user: int) -> Iterator[Scene]:
    with tempfile.TemporaryDirectory(prefix="ways-", dir=TEMPORARY) as name, contextlib.ExitStack() as stack:
        scene = Scene(Path(name).resolve(), user)
        _folders(scene)
        _servers(scene, stack)
        _terminal(scene, stack)
        for folder, _, files in os.walk(scene.top):
            for each in (Path(folder), *(Path(folder, file) for file in files)):
                os.chown(each, user, user, follow_symlinks=False)
        victim = stack.enter_context(
            subprocess.Popen(
                [*scene.command, _python(), "-I", "-S", "-c", VICTIM],
                env={**scene.environment, "SECRET": scene.places["secret"]},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        address, opened = victim.stdout.readline().split()
        scene.places |= {"pid": str(victim.pid), "address": address, "open": opened}
        (scene.top / "scene.json").write_text(json.dumps(scene.places))
        (scene.top / "scene.json").rename(scene.top / "project/scene.json")
        yield scene
        victim.stdin.close()
        for folder in ("/etc", "/var/spool/cron/crontabs", "/var/spool/cron/atjobs", SHARED_MEMORY):
            Path(folder, scene.name).unlink(missing_ok=True)


def _folders(scene: Scene) -> None:
    top, project = scene.top, scene.top / "project"
    top.chmod(0o755)
    environment = project / "tools/.venv"
    packages = environment / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    for folder in ("home/.ssh", "home/.cache/verifygate", "other", "tmp/verifygate-policy-0123456789abcdef"):
        (top / folder).mkdir(parents=True)
    for folder in (project / "reports/latest", project / ".git/hooks", project / ".git/info", packages):
        folder.mkdir(parents=True)
    scene.places |= {
        "secret": secrets.token_hex(16),
        "project": str(project),
        "home": str(top / "home"),
        "other": str(top / "other"),
        "temporary": str(top / "tmp"),
        "environment": str(environment),
        "packages": str(packages),
        "name": scene.name,
        "disk": _disk(),
    }
    (environment / "bin").mkdir()
    (environment / "bin/python").symlink_to(_python())
    (environment / "pyvenv.cfg").write_text(f"home = {Path(_python()).parent}\n")
    package = Path(verifygate.__file__).parent
    for part in ("__init__.py", "base", "process", "sources"):
        copy = shutil.copytree if (package / part).is_dir() else shutil.copyfile
        (packages / "verifygate").mkdir(exist_ok=True)
        copy(package / part, packages / "verifygate" / part)
    shutil.copy(Path(__file__).with_name("ways_out.py"), project)
    (top / "home/.ssh/id").write_text(scene.places["secret"])
    (top / "home/.profile").write_text("")
    token = f'[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic {scene.places["secret"]}\n'
    (project / ".git/config").write_text(token)


def _servers(scene: Scene, stack: contextlib.ExitStack) -> None:
    """Each notes who writes to it."""
    name = scene.name
    scene.places |= {
        "tmux": f"{TEMPORARY}/{name}/default",
        "x11": f"{TEMPORARY}/.X11-unix/{name}",
        "tree": f"{scene.places['project']}/.dev.sock",
        "agent": f"{scene.places['home']}/agent",
        "run": f"/run/{name}.sock",
        "dbus": f"/run/user/{name}/bus",
        "systemd": f"/run/{name}/private",
        "engine": f"/run/podman/{name}.sock",
        "abstract": name,
    }
    for kind in ("tmux", "x11", "tree", "agent", "run", "dbus", "systemd", "engine"):
        place = Path(scene.places[kind])
        with contextlib.suppress(PermissionError):
            if not place.parent.exists():
                outer = next(each for each in reversed(place.parents) if not each.exists())
                place.parent.mkdir(parents=True)
                stack.callback(shutil.rmtree, outer)
            _listen(scene, kind, socket.AF_UNIX, str(place), stack)
            place.chmod(0o777)
            stack.callback(place.unlink, missing_ok=True)
    _listen(scene, "abstract", socket.AF_UNIX, "\0" + name, stack)
    server = _listen(scene, "port", socket.AF_INET, ("127.0.0.1", 0), stack)
    scene.places["port"] = str(server.getsockname()[1])


def _listen(scene: Scene, kind: str, family: int, address: object, stack: contextlib.ExitStack) -> socket.socket:
    server = stack.enter_context(socket.socket(family))
    server.bind(address)
    server.listen()

    def hear() -> None:
        with contextlib.suppress(OSError):
            while True:
                with server.accept()[0] as connection:
                    if connection.recv(100) == MARK.encode():
                        scene.heard.add(kind)

    threading.Thread(target=hear, daemon=True).start()
    return server


def _terminal(scene: Scene, stack: contextlib.ExitStack) -> None:
    ours, theirs = os.openpty()
    stack.callback(os.close, ours)
    scene.places["terminal"] = os.ttyname(theirs)
    os.fchown(theirs, scene.user, -1)
    os.set_blocking(ours, False)
    stack.callback(os.close, theirs)
    scene.heard.add(f"terminal {ours}")


HEARD = {
    "terminal server in tmp": "tmux",
    "server in run": "run",
    "server in the tree": "tree",
    "abstract socket": "abstract",
    "x11": "x11",
    "dbus of the session": "dbus",
    "systemd": "systemd",
    "container engine": "engine",
    "ssh agent": "agent",
    "server on this machine": "port",
}


def _left(scene: Scene) -> dict[str, bool]:
    """What lies outside afterwards, by the way that leads there."""
    places, project = scene.places, Path(scene.places["project"])
    files = {
        "configuration of git": project / ".git/config",
        "hook of git": project / ".git/hooks/post-checkout",
        "attributes of git": project / ".git/info/attributes",
        "cache of the gate": Path(places["home"], ".cache/verifygate/answer"),
        "report of the gate": project / "reports/latest/report.json",
        "temporary folder of the gate": Path(places["temporary"], "verifygate-policy-0123456789abcdef/verifygate.toml"),
        "cron": Path("/var/spool/cron/crontabs", scene.name),
        "at": Path("/var/spool/cron/atjobs", scene.name),
        "folder of the machines settings": Path("/etc", scene.name),
        "file of the shell": Path(places["home"], ".bashrc"),
        "packages of the user": Path(places["home"], ".local/lib/python3/site-packages/usercustomize.py"),
        "symbolic link out": Path(places["home"], ".profile"),
        "another checkout": Path(places["other"], "train.py"),
        "memory that others share": Path(SHARED_MEMORY, scene.name),
    }
    inside = Path(places["packages"]).relative_to(project)
    moved = [project / inside, project / "moved" / Path(*inside.parts[1:]), project / "moved" / Path(*inside.parts[2:])]
    moved.append(project / "moved/.venv" / Path(*inside.parts[2:]))
    files["pth in the environment of the gate"] = next(
        (p / "way.pth" for p in moved if (p / "way.pth").exists()), moved[0]
    )
    found = {name: path.is_file() and MARK in path.read_text() for name, path in files.items()}
    found["module of the gate"] = any(
        (p / "verifygate/__init__.py").exists() and MARK in (p / "verifygate/__init__.py").read_text() for p in moved
    )
    pythons = [p / "bin/python" for p in (Path(places["environment"]), project / "moved/.venv", project / "moved")]
    found["interpreter of the gate"] = any(p.exists() and not p.is_symlink() for p in pythons)
    found["environment of the gate moved away"] = (project / "moved/bin").exists()
    found["folder around it moved away"] = (project / "moved").exists()
    found["signal to a process"] = Path(places["home"], "signalled").exists()
    found["pipe for a later reader"] = (project / "conf.yaml").is_fifo()
    program, huge = project / "program", project / "huge"
    found["program of somebody else"] = program.exists() and bool(program.stat().st_mode & stat.S_ISUID)
    found["huge file"] = huge.exists() and huge.stat().st_size > 1 << 39
    terminal = next(int(each.split()[1]) for each in scene.heard if each.startswith("terminal "))
    try:
        found["terminal of the user"] = MARK.encode() in os.read(terminal, 1000)
    except BlockingIOError:
        found["terminal of the user"] = False
    return found | {name: kind in scene.heard for name, kind in HEARD.items()}


@dataclass(frozen=True)
class Outcome:
    """What came of all ways at once."""

    told: dict[str, str]
    left: dict[str, bool]
    isolated: tuple[str, ...]

    def reached(self, name: str) -> bool:
        """As it was told, and as it is seen from outside: either counts."""
        return self.left.get(name, self.told[name] == "reached")


_seen: dict[tuple[int, str], Outcome] = {}


def outcome(user: int, isolation: str) -> Outcome:
    if user != os.geteuid() and os.geteuid() != 0:
        pytest.skip("only root can start the gate as somebody else")
    if (user, isolation) not in _seen:
        with _scene(user) as scene:
            places = scene.places
            script, told = f"{places['project']}/ways_out.py", f"{places['project']}/scene.json"
            done = subprocess.run(
                [
                    *scene.command,
                    f"{places['environment']}/bin/python",
                    "-c",
                    GATE,
                    places["project"],
                    isolation,
                    script,
                    told,
                ],
                env=scene.environment,
                cwd=places["project"],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            isolated, ending, out, error = json.loads(done.stdout)
            assert ending == "exit code 0", (ending, error)
            _seen[user, isolation] = Outcome(json.loads(out), _left(scene), tuple(isolated))
    return _seen[user, isolation]


USERS = sorted({os.geteuid(), NOBODY})
EVERY = [(user, name) for user in USERS for name in WAYS]


@pytest.mark.parametrize(("user", "name"), EVERY)
def test_no_way_out_where_isolation_is_required(user: int, name: str) -> None:
    seen = outcome(user, "required")
    assert set(seen.isolated) == set(LAYERS)
    assert not seen.reached(name), seen.told[name]


@pytest.mark.parametrize(("user", "name"), EVERY)
def test_what_is_open_by_default_is_what_the_report_says(user: int, name: str) -> None:
    seen = outcome(user, "auto")
    assert set(seen.isolated) == set(LAYERS) - {"network"}
    assert seen.reached(name) == (name in OPEN_BY_POLICY), seen.told[name]
    if name in OPEN_BY_POLICY:
        assert OPEN_BY_POLICY[name] in in_words(Isolation.AUTO, seen.isolated).partition("; open: ")[2]


@pytest.mark.parametrize(("user", "name"), EVERY)
def test_each_way_leads_out_without_isolation(user: int, name: str) -> None:
    """Else it shows nothing that it fails with."""
    if user != 0 and name in OF_ROOT:
        pytest.skip("only root may do that at all")
    if os.geteuid() != 0 and name in NEEDS_RUN:
        pytest.skip("only root can start a server in /run")
    if name == "disk" and _disk() == NO_DISK:
        pytest.skip("no disk of this machine can be read")
    seen = outcome(user, "off")
    assert seen.isolated == ()
    assert seen.reached(name), seen.told[name]
