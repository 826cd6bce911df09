"""`make gpu-bundle`: one folder with all that a machine with CUDA and torch needs for `make gpu`, without a network.

    python tests/performance/gpu_bundle.py [--into build/gpu-bundle] [--python 3.11 ...]

It holds `project`, a clone of the commit; `wheels`, for each version of Python that is asked for; and `run.sh`, which
makes an environment over the machine's own torch, measures, and leaves `gpu-result` and the records.
"""

from __future__ import annotations

import argparse
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MORE = ("numpy", "scipy")
"""What measuring needs beside the dependencies of verifygate itself. torch is the machine's own."""
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
RUN = """\
#!/bin/sh
# sh run.sh [PYTHON [OPTIONS]]: PYTHON has torch with CUDA (default: python3); the options are those of gpu_table.py.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
python=${1:-python3}
[ $# -eq 0 ] || shift
began=$(date +%s)
"$python" -m venv --clear --system-site-packages "$here/env"
bin="$here/env/bin/python"
# A virtual environment sees the packages of Python itself, not those of another one around it: name them.
own=$("$bin" -c 'import site; print(site.getsitepackages()[0])')
"$python" -c 'import site; print("\\n".join(site.getsitepackages()))' > "$own/around.pth"
"$bin" -m pip install --quiet --disable-pip-version-check --no-input --no-index --find-links "$here/wheels" \\
  -r "$here/requirements.txt"
echo "[environment: $(( $(date +%s) - began )) s]"
cd "$here/project"
PYTHONPATH="$here/project" exec "$bin" tests/performance/gpu_table.py --into "$here/gpu-result" "$@"
"""


def requirements() -> list[str]:
    """`name==version`, as constraints.txt has it, for all that is installed on the machine."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = dict(re.findall(r"^([\w-]+)==(.+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE))
    names = [re.split(r"[^\w-]", each)[0] for each in project["dependencies"]]
    return [f"{name}=={pinned[name]}" for name in sorted({*names, *MORE})]


def wheels(folder: Path, asked: Path, versions: list[str]) -> None:
    """Download the wheels of the requirements, and of what those need. Raises CalledProcessError."""
    for version in versions:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--only-binary=:all:"]
        command += [
            "--disable-pip-version-check",
            "-c",
            str(ROOT / "constraints.txt"),
            "-r",
            str(asked),
            "-d",
            str(folder),
        ]
        if version != "{}.{}".format(*platform.python_version_tuple()):
            command += ["--python-version", version, *(f"--platform={each}" for each in PLATFORMS)]
        subprocess.run(command, check=True)


def build(into: Path, versions: list[str]) -> None:
    """Make the folder anew."""
    shutil.rmtree(into, ignore_errors=True)
    (into / "wheels").mkdir(parents=True)
    clone = ["git", "clone", "--quiet", "--depth", "1", "--no-tags", f"file://{ROOT}", str(into / "project")]
    subprocess.run(clone, check=True)
    (into / "requirements.txt").write_text("\n".join([*requirements(), ""]), encoding="utf-8")
    (into / "run.sh").write_text(RUN, encoding="utf-8")
    wheels(into / "wheels", into / "requirements.txt", versions)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=ROOT / "build/gpu-bundle")
    parser.add_argument("--python", nargs="+", default=["{}.{}".format(*platform.python_version_tuple())])
    asked = parser.parse_args()
    build(asked.into.resolve(), asked.python)
    if changed := subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True).stdout:
        print(f"not in it: {len(changed.splitlines())} files that are not committed", file=sys.stderr)
    size = sum(each.stat().st_size for each in asked.into.rglob("*") if each.is_file())
    print(f"{asked.into}: {size / 2**20:.0f} MiB; on the machine: sh {asked.into.name}/run.sh PYTHON")
    return 0


if __name__ == "__main__":
    sys.exit(main())
