"""A project to measure, and the stage run on it."""

from __future__ import annotations

import datetime as dt
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verifygate.config.performance import PerformanceSettings
from verifygate.config.settings import Settings
from verifygate.model import StageResult
from verifygate.performance import PerformanceStage
from verifygate.process.subject import Subject
from verifygate.sources.tree import Sources
from verifygate.stage import StageContext

Measure = Callable[..., StageResult]
KeyPair = Callable[..., tuple[bytes, bytes]]
QUICK = {
    "rounds": 3,
    "steps": 2,
    "warmup": 1,
    "train_steps": 3,
    "seconds": 60.0,
    "rounds_max": 3,
    "seeds": (0, 1, 2),
    "profile": False,
}


@pytest.fixture
def simulated(tmp_path: Path) -> Path:
    """A project whose torch is a stand-in that starts at once."""
    return Path(shutil.copytree(Path(__file__).parent / "simulated", tmp_path / "project"))


@pytest.fixture
def measure(simulated: Path) -> Measure:
    """Run the stage on a workload of the simulated project."""

    def run(workload: str, root: Path = simulated, **settings: Any) -> StageResult:
        performance = PerformanceSettings.model_validate({"workload": workload, **QUICK, **settings})
        context = StageContext(
            settings=Settings(root=root, today=dt.date(2025, 1, 1), performance=performance),
            sources=Sources([], []),
            subject=Subject(root, Path(sys.executable)),
        )
        return PerformanceStage().run(context)

    return run


@pytest.fixture(scope="session")
def key_pair() -> KeyPair:
    """Make a new private and its public key, as PEM."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    def make(kind: str = "ed25519") -> tuple[bytes, bytes]:
        key = ed25519.Ed25519PrivateKey.generate() if kind == "ed25519" else ec.generate_private_key(ec.SECP256R1())
        return (
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
            key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        )

    return make
