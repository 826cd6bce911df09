"""`make release-watch`: what another torch does otherwise than the one that the rules and tables were measured on.

    python tests/releases/release_watch.py --version 2.14.1     reads the wheel of that release, installs nothing
    python tests/releases/release_watch.py --wheel FILE
    python tests/releases/release_watch.py --python PYTHON      runs proofs and twin programs under that torch, too
    python tests/releases/release_watch.py --write              keeps facts and proofs of the torch that is here

Exit code 1 where something moved.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import proved_versions as proofs
import torch_facts as facts
from torch_tree import TorchTree

from verifygate.base.errors import UsageError, VerifygateError

ROOT = Path(__file__).parents[2]
TWIN = ROOT / "tests/twin/moved.py"
_WHERE = "import importlib.util as u, pathlib; print(pathlib.Path(u.find_spec('torch').origin).parents[1])"


@click.command()
@click.option("--version", default="", help="A release of torch: pip downloads its wheel.")
@click.option("--wheel", type=click.Path(path_type=Path), help="A wheel of torch.")
@click.option("--python", type=click.Path(path_type=Path), help="An interpreter that has another torch.")
@click.option("--write", is_flag=True, help="Keep the facts and proofs of the torch that is here.")
def main(version: str, wheel: Path | None, python: Path | None, write: bool) -> int:
    """List what moved. Raises UsageError."""
    if write:
        return _write()
    if sum(map(bool, (version, wheel, python))) != 1:
        raise UsageError("names no torch", remedy="give one of --version, --wheel, --python")
    with tempfile.TemporaryDirectory() as folder:
        if python is not None:
            return _told(TorchTree(installed(python)), python)
        return _told(TorchTree(wheel if wheel is not None else downloaded(version, Path(folder))), None)


def downloaded(version: str, folder: Path) -> Path:
    """The wheel of a release, for this Python, fetched by pip as it is set up here; nothing is installed."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input", "-q", "-d", str(folder)]
    ended = subprocess.run([*command, f"torch=={version}"], capture_output=True, text=True, check=False)
    if found := sorted(folder.glob("torch-*.whl")):
        return found[0]
    last = (ended.stderr.strip().splitlines() or ["no wheel"])[-1]
    raise UsageError(
        f"pip gives no wheel: {last}", where=f"torch {version}", remedy="name another release, or a --wheel"
    )


def installed(python: Path) -> Path:
    """The folder that holds the torch of an interpreter."""
    ended = subprocess.run([str(python), "-I", "-c", _WHERE], capture_output=True, text=True, check=False)
    if ended.returncode:
        raise UsageError("has no torch", where=str(python), remedy="name an interpreter that has one")
    return Path(ended.stdout.strip())


def _told(tree: TorchTree, python: Path | None) -> int:
    before, known = facts.kept()
    now = facts.facts_of(tree)
    moved = facts.moved(known, now)
    print(f"torch {before} -> {tree.version}: {len(moved)} of {len(known)} facts moved")
    for each in moved:
        print(f"  {each}")
    dtypes = facts.unscale_dtypes(tree)
    if dtypes is None:
        print("  this build has no CUDA: which gradients CUDA unscales (AMP705) cannot be read from it")
    else:
        stands = "AMP705 stands" if "bfloat16" not in dtypes else "AMP705 IS FALSE from this version on"
        print(f"  CUDA unscales gradients in {', '.join(dtypes)}: {stands}")
    if python is None:
        print("proofs and twin programs did not run: a wheel is read, not installed; give --python for that")
        return int(bool(moved))
    held, failed = proofs.run(python)
    print(f"proofs: {len(held)} of {len(held) + len(failed)} hold")
    for line in failed:
        print(f"  {line}")
    twins = _twins(python)
    print(f"twin programs: {len(twins)} ran otherwise")
    for line in twins:
        print(f"  {line}")
    return int(bool(moved or failed or twins))


def _twins(python: Path) -> list[str]:
    """The programs whose recorded events are others under that torch."""
    if not TWIN.exists():
        return ["not run: this is no checkout"]
    ended = subprocess.run([str(python), str(TWIN)], capture_output=True, text=True, check=False, cwd=ROOT)
    try:
        found: list[str] = json.loads(ended.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        last = (ended.stderr.strip().splitlines() or ["nothing was told"])[-1]
        return [f"not run: {last}"]
    return found


def _write() -> int:
    python = Path(sys.executable)
    facts.FILE.write_text(facts.written(TorchTree(installed(python))), encoding="utf-8")
    held, failed = proofs.run(python)
    proofs.FILE.write_text(proofs.written(held), encoding="utf-8")
    print(f"kept {len(facts.kept()[1])} facts, {len(held)} proofs")
    for line in failed:
        print(f"  {line}")
    return int(bool(failed))


if __name__ == "__main__":
    try:
        sys.exit(main(standalone_mode=False))
    except (VerifygateError, click.ClickException) as error:
        print(f"release-watch: {error}", file=sys.stderr)
        sys.exit(2)
