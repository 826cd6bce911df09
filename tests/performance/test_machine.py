"""What is written down about the machine, asked of a driver that answers as NVML does, in part, or not at all."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import verifygate


@pytest.fixture(scope="module")
def machine() -> Any:
    path = Path(verifygate.__file__).parent / "instrument" / "bench" / "machine_state.py"
    spec = importlib.util.spec_from_file_location("machine_for_tests", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Nvml:
    """As the library: codes come back, figures are written where the last argument points. 3: not supported."""

    figures = {
        "nvmlDeviceGetClockInfo": 1980,
        "nvmlDeviceGetMaxClockInfo": 1980,
        "nvmlDeviceGetPowerUsage": 512_500,
        "nvmlDeviceGetEnforcedPowerLimit": 700_000,
    }

    def __init__(self, known: str = "GPU-1", reasons: int = 0x4) -> None:
        self.known, self.reasons = known, reasons

    def __getattr__(self, name: str) -> Any:
        def ask(*arguments: Any) -> int:
            if name not in self.figures:
                return 3
            arguments[-1]._obj.value = self.figures[name]
            return 0

        return ask

    def nvmlInit_v2(self) -> int:  # noqa: N802
        return 0

    def nvmlDeviceGetHandleByUUID(self, identifier: bytes, _handle: object) -> int:  # noqa: N802
        return 0 if identifier.decode() == self.known else 6

    def nvmlSystemGetDriverVersion(self, buffer: Any, _room: int) -> int:  # noqa: N802
        buffer.value = b"570.1"
        return 0

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, _handle: object, reasons: Any) -> int:  # noqa: N802
        reasons._obj.value = self.reasons
        return 0

    def nvmlDeviceGetComputeRunningProcesses_v3(self, _handle: object, count: Any, _list: None) -> int:  # noqa: N802
        assert isinstance(count._obj, ctypes.c_uint)
        count._obj.value = 3
        return 7


def test_the_driver_is_asked_for_clocks_power_and_company(machine: Any) -> None:
    """Figures come in MHz, W and counts; what it does not support (the temperature here) is left out."""
    device = machine.Device("GPU-1", Nvml())
    assert device.facts() == {
        "driver": "570.1",
        "power limit": "700 W",
        "greatest SM clock": "1980 MHz",
        "greatest memory clock": "1980 MHz",
    }
    assert device.state() == {"sm_mhz": 1980, "memory_mhz": 1980, "power_w": 512.5, "slowed_down": 1, "processes": 3}


def test_an_idle_device_is_not_slowed_down(machine: Any) -> None:
    """Clocks that are low because nothing runs, or because somebody set them, are no sign of heat."""
    assert machine.Device("GPU-1", Nvml(reasons=0x3)).state()["slowed_down"] == 0


def test_an_unknown_device_is_an_error_and_a_machine_without_one_is_none(machine: Any) -> None:
    """On a CPU there is the processor and the load, and nothing is made up."""
    with pytest.raises(OSError, match="NVML answers 6"):
        machine.Device("GPU-2", Nvml())
    nothing = machine.Machine(SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False)))
    assert set(nothing.facts()) == {"processor", "processors"}
    assert set(nothing.state()) == {"load"}
