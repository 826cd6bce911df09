import os
import subprocess
import sys
from pathlib import Path

import torch.multiprocessing
from train import train

SCRIPT = Path(__file__).with_name("train.py")


def worker(_rank: int) -> None:
    train(clips_late=False)


def test_script():
    subprocess.run([sys.executable, SCRIPT], check=True)


def test_script_that_clips_late():
    subprocess.run([sys.executable, SCRIPT, "clip-late"], check=True)


def test_spawned_worker():
    torch.multiprocessing.spawn(worker, nprocs=1)


def test_script_with_an_environment_of_its_own():
    subprocess.run([sys.executable, SCRIPT, "clip-late"], check=True, env={"PATH": os.environ["PATH"]})


def test_children_find_no_secret_of_the_run():
    told = [name for name in os.environ if name.startswith("VERIFYGATE")]
    assert told == ["VERIFYGATE_CHILDREN"]
    assert "nonce" not in os.environ["VERIFYGATE_CHILDREN"]
    said = subprocess.run(
        [sys.executable, "-c", "import sys; print([p for p in sys.path if 'startup' in p], len(sys.meta_path))"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert said.stdout.startswith("[] ")
    assert said.stderr == ""
