"""A repository that was judged, and keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from judged_repository import CLEAN, CONFIG, Judged


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judged:
    """A repository with a configuration; nothing is judged yet."""
    folder = tmp_path / "repository"
    folder.mkdir()
    made = Judged(folder)
    made.git("init", "-q", "-b", "main")
    made.commit(**{".gitignore": "reports/\n", "verifygate__toml": CONFIG, "train__py": CLEAN})
    monkeypatch.chdir(folder)
    return made


@pytest.fixture
def keys(tmp_path: Path) -> Callable[..., tuple[Path, Path]]:
    """Make a new private and its public key, as PEM files."""

    def make(name: str = "gate", kind: str = "ed25519") -> tuple[Path, Path]:
        key = ed25519.Ed25519PrivateKey.generate() if kind == "ed25519" else ec.generate_private_key(ec.SECP256R1())
        private, public = tmp_path / f"{name}.pem", tmp_path / f"{name}.pub"
        private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
        return private, public

    return make
