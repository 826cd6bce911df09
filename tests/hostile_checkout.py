"""A checkout that brings stand-ins for all that might be started or imported in it; each writes down that it ran."""

from __future__ import annotations

from pathlib import Path

MODULES = tuple(
    "argparse codecs collections conftest contextlib copyreg ensurepip functools json logging multiprocessing os "  # noqa: SIM905
    "pathlib pickle pkgutil re runpy setup shutil sitecustomize struct subprocess tempfile threading tomllib traceback "
    "types typing urllib usercustomize venv warnings zipfile click coverage jinja2 packaging pip pydantic pygls pytest "
    "setuptools verifygate yaml".split()
)
PROGRAMS = ("bash", "env", "git", "pip", "python", "python3", "realpath", "rm", "verifygate", "zizmor")
SETTINGS = {
    ".netrc": "default login me password mine\n",
    ".python-version": "../../bin\n",
    "pip.conf": "[global]\nindex-url = http://127.0.0.1:9/simple\nno-index = true\n",
    "pydistutils.cfg": "[install]\nprefix = stolen\n",
    "pyvenv.cfg": "home = bin\n",
    "setup.cfg": "[global]\nno-index = true\n[install]\nprefix = stolen\n",
    "constraints.txt": "click==0.0\n",
}
NAMES = ("$(touch ran).py", "`touch ran`.py", "a; touch ran.py", "new\n::error::line.py", "verdict=PASS.py")

SPY = """\
import os
with open({ran!r}, "a") as file:
    file.write({what!r} + " read " + os.environ.get("PLANTED_TOKEN", "") + chr(10))
"""


def plant(folder: Path, ran: Path, *, modules: tuple[str, ...] = MODULES) -> dict[str, str]:
    """Fill the folder: `ran` gets a line of whatever runs, with the token that it could read. Returns the tokens."""
    for name in modules:
        (folder / f"{name}.py").write_text(SPY.format(ran=str(ran), what=f"{name}.py"), encoding="utf-8")
    package = folder / "verifygate"
    if "verifygate" in modules:
        package.mkdir()
        for name in ("__init__", "__main__"):
            (package / f"{name}.py").write_text(SPY.format(ran=str(ran), what=f"package {name}"), encoding="utf-8")
    (folder / "bin").mkdir()
    for name in PROGRAMS:
        (folder / "bin" / name).write_text(f'#!/bin/sh\necho "bin/{name}" >> "{ran}"\nexit 0\n', encoding="utf-8")
        (folder / "bin" / name).chmod(0o755)
    for name, text in SETTINGS.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in NAMES:
        (folder / name).write_text("x = 1\n", encoding="utf-8")
    return {"PLANTED_TOKEN": "planted-7f3a", "GITHUB_TOKEN": "planted-7f3a"}
