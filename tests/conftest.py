"""What every test needs: nothing of the user's, and nothing of another test's."""

from __future__ import annotations

from itertools import count

import pytest

from verifygate.base.failures import VARIABLE

try:
    import hypothesis
except ImportError:  # on a bare machine with a GPU, which runs the gpu-marked tests alone
    pass
else:
    hypothesis.settings.register_profile(
        "any machine", deadline=None
    )  # an example takes as long as the machine is busy
    hypothesis.settings.load_profile("any machine")

_NUMBERS = count()


@pytest.fixture(autouse=True)
def _faults_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of our own, which costs users one file or rule, ends a test."""
    monkeypatch.setenv(VARIABLE, "1")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers of `check` that one test leaves behind are no answers to the next, which may have changed a rule."""
    monkeypatch.setenv("VERIFYGATE_CACHE_DIR", str(tmp_path_factory.getbasetemp() / f"answers-{next(_NUMBERS)}"))
