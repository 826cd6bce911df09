"""Ways out of a process of the project, each tried in a process of its own. Run by test_ways_out.py, with no package.

`python ways_out.py SCENE.json` prints what each way came to, as JSON: `reached`, or why not. What a way reads has to be
the secret; what it writes, sends or leaves behind is looked for by the test, from outside.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path

WAYS: dict[str, Callable[[dict[str, str]], object]] = {}
_libc = ctypes.CDLL(None, use_errno=True)
MARK = "written by a test"


def way(function: Callable[[dict[str, str]], object]) -> Callable[[dict[str, str]], object]:
    WAYS[function.__name__.replace("_", " ")] = function
    return function


def called(name: str, *arguments: object) -> int:
    result = getattr(_libc, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return int(result)


def written(path: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(MARK)


def secret(scene: dict[str, str], text: str | bytes) -> None:
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    assert scene["secret"] in text, "it is not the secret"


def connected(address: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        client.connect(address)
        client.sendall(MARK.encode())


# --- git, and what the gate is started from ---


@way
def token_in_the_configuration_of_git(scene: dict[str, str]) -> None:
    secret(scene, Path(scene["project"], ".git/config").read_text())


@way
def configuration_of_git(scene: dict[str, str]) -> None:
    written(f"{scene['project']}/.git/config")


@way
def hook_of_git(scene: dict[str, str]) -> None:
    written(f"{scene['project']}/.git/hooks/post-checkout")


@way
def attributes_of_git(scene: dict[str, str]) -> None:
    written(f"{scene['project']}/.git/info/attributes")


@way
def pth_in_the_environment_of_the_gate(scene: dict[str, str]) -> None:
    written(f"{scene['packages']}/way.pth")


@way
def interpreter_of_the_gate(scene: dict[str, str]) -> None:
    place = Path(scene["environment"], "bin/python")
    place.unlink()
    place.write_text(MARK)


@way
def module_of_the_gate(scene: dict[str, str]) -> None:
    written(f"{scene['packages']}/verifygate/__init__.py")


@way
def environment_of_the_gate_moved_away(scene: dict[str, str]) -> None:
    Path(scene["environment"]).rename(Path(scene["project"], "moved"))


@way
def folder_around_it_moved_away(scene: dict[str, str]) -> None:
    Path(scene["environment"]).parent.rename(Path(scene["project"], "moved"))


@way
def cache_of_the_gate(scene: dict[str, str]) -> None:
    written(f"{scene['home']}/.cache/verifygate/answer")


@way
def report_of_the_gate(scene: dict[str, str]) -> None:
    written(f"{scene['project']}/reports/latest/report.json")


@way
def temporary_folder_of_the_gate(scene: dict[str, str]) -> None:
    written(f"{scene['temporary']}/verifygate-policy-0123456789abcdef/verifygate.toml")


# --- those who start programs for others ---


@way
def terminal_server_in_tmp(scene: dict[str, str]) -> None:
    connected(scene["tmux"])


@way
def server_in_run(scene: dict[str, str]) -> None:
    connected(scene["run"])


@way
def server_in_the_tree(scene: dict[str, str]) -> None:
    connected(scene["tree"])


@way
def abstract_socket(scene: dict[str, str]) -> None:
    connected("\0" + scene["abstract"])


@way
def x11(scene: dict[str, str]) -> None:
    connected(scene["x11"])


@way
def dbus_of_the_session(scene: dict[str, str]) -> None:
    connected(scene["dbus"])


@way
def systemd(scene: dict[str, str]) -> None:
    connected(scene["systemd"])


@way
def container_engine(scene: dict[str, str]) -> None:
    connected(scene["engine"])


@way
def ssh_agent(scene: dict[str, str]) -> None:
    connected(scene["agent"])


@way
def server_on_this_machine(scene: dict[str, str]) -> None:
    with socket.create_connection(("127.0.0.1", int(scene["port"])), 5) as client:
        client.sendall(MARK.encode())


@way
def cron(scene: dict[str, str]) -> None:
    written(f"/var/spool/cron/crontabs/{scene['name']}")


@way
def at(scene: dict[str, str]) -> None:
    written(f"/var/spool/cron/atjobs/{scene['name']}")


@way
def folder_of_the_machines_settings(scene: dict[str, str]) -> None:
    written(f"/etc/{scene['name']}")


# --- processes ---


@way
def environment_of_a_process(scene: dict[str, str]) -> None:
    secret(scene, Path("/proc", scene["pid"], "environ").read_bytes())


@way
def memory_of_a_process(scene: dict[str, str]) -> None:
    with Path("/proc", scene["pid"], "mem").open("rb") as memory:
        memory.seek(int(scene["address"]))
        secret(scene, memory.read(200))


@way
def root_of_a_process(scene: dict[str, str]) -> None:
    secret(scene, Path("/proc", scene["pid"], "root" + scene["home"], ".ssh/id").read_text())


@way
def file_that_a_process_has_open(scene: dict[str, str]) -> None:
    secret(scene, Path("/proc", scene["pid"], "fd", scene["open"]).read_text())


@way
def ptrace(scene: dict[str, str]) -> None:
    called("ptrace", 0x4206, int(scene["pid"]), None, None)


@way
def signal_to_a_process(scene: dict[str, str]) -> None:
    os.kill(int(scene["pid"]), signal.SIGUSR1)


@way
def namespace_of_a_process(scene: dict[str, str]) -> None:
    """Into its mounts, and where that is not granted, into its users first."""
    place = os.open(f"/proc/{scene['pid']}/ns/mnt", os.O_RDONLY)
    called("setns", place, 0)
    secret(scene, Path(scene["home"], ".ssh/id").read_text())


# --- credentials, and what covers them ---


@way
def key_in_the_home_folder(scene: dict[str, str]) -> None:
    secret(scene, Path(scene["home"], ".ssh/id").read_text())


@way
def cover_taken_off(scene: dict[str, str]) -> None:
    _libc.umount2(f"{scene['home']}/.ssh".encode(), 2)
    secret(scene, Path(scene["home"], ".ssh/id").read_text())


@way
def mounts_in_a_namespace_of_its_own(scene: dict[str, str]) -> None:
    with_users = 0x10000000 | 0x20000
    _libc.unshare(with_users)
    _libc.umount2(f"{scene['home']}/.ssh".encode(), 2)
    secret(scene, Path(scene["home"], ".ssh/id").read_text())


@way
def tree_of_mounts_without_the_cover(scene: dict[str, str]) -> None:
    tree = _libc.syscall(428, -100, scene["home"].encode(), 1)
    place = f"/proc/self/fd/{tree}" if tree >= 0 else scene["home"]
    secret(scene, Path(place, ".ssh/id").read_text())


@way
def hard_link_to_a_key(scene: dict[str, str]) -> None:
    os.link(f"{scene['home']}/.ssh/id", f"{scene['project']}/hard")
    secret(scene, Path(scene["project"], "hard").read_text())


@way
def disk(scene: dict[str, str]) -> None:
    with Path(scene["disk"]).open("rb") as device:
        assert len(device.read(512)) == 512


@way
def device_made_by_name(scene: dict[str, str]) -> None:
    os.mknod(f"{scene['project']}/device", stat.S_IFCHR | 0o600, os.makedev(1, 8))
    with Path(scene["project"], "device").open("rb") as device:
        assert len(device.read(8)) == 8


# --- what is left for others ---


@way
def file_of_the_shell(scene: dict[str, str]) -> None:
    written(f"{scene['home']}/.bashrc")


@way
def packages_of_the_user(scene: dict[str, str]) -> None:
    written(f"{scene['home']}/.local/lib/python3/site-packages/usercustomize.py")


@way
def symbolic_link_out(scene: dict[str, str]) -> None:
    Path(scene["project"], "profile").symlink_to(f"{scene['home']}/.profile")
    written(f"{scene['project']}/profile")


@way
def another_checkout(scene: dict[str, str]) -> None:
    written(f"{scene['other']}/train.py")


@way
def memory_that_others_share(scene: dict[str, str]) -> None:
    written(f"/dev/shm/{scene['name']}")  # noqa: S108 — known to everybody


@way
def program_for_cores(_scene: dict[str, str]) -> None:
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))


@way
def terminal_of_the_user(scene: dict[str, str]) -> None:
    place = os.open(scene["terminal"], os.O_WRONLY | os.O_NOCTTY)
    os.write(place, MARK.encode())


@way
def program_of_somebody_else(scene: dict[str, str]) -> None:
    place = Path(scene["project"], "program")
    place.touch()
    place.chmod(0o4755)


@way
def pipe_for_a_later_reader(scene: dict[str, str]) -> None:
    os.mkfifo(f"{scene['project']}/conf.yaml")


@way
def huge_file(scene: dict[str, str]) -> None:
    with Path(scene["project"], "huge").open("wb") as file:
        os.truncate(file.fileno(), 1 << 40)


def tried(name: str, scene: dict[str, str]) -> str:
    """In a forked process: what one way changes of itself is not the next one's."""
    back, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            WAYS[name](scene)
            answer = "reached"
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(told, answer.encode()[:1000])
        os._exit(0)
    os.close(told)
    with os.fdopen(back, encoding="utf-8", errors="replace") as file:
        answer = file.read()
    os.waitpid(child, 0)
    return answer or "its process was ended"


if __name__ == "__main__":
    here = json.loads(Path(sys.argv[1]).read_text())
    last = (
        "module of the gate",
        "interpreter of the gate",
        "environment of the gate moved away",
        "folder around it moved away",
    )
    ordered = sorted(WAYS, key=lambda name: last.index(name) + 1 if name in last else 0)
    print(json.dumps({name: tried(name, here) for name in ordered}))
