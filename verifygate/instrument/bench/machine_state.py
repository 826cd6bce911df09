"""The machine while it is measured: load, and of an NVIDIA device its clocks, power, temperature and company.

The driver's own library (NVML) is asked through ctypes, so that nothing needs to be installed beside the driver. What
it does not tell is left out: a figure that is not there is better than one that is made up.
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

SM_CLOCK, MEMORY_CLOCK = 1, 2
NOT_SLOWED_DOWN = 0x1 | 0x2
"""Reasons for a lower clock that are no trouble: the device idles, or its clocks were set by somebody."""


class Device:
    """The first NVIDIA device that this process may use, as its driver describes it."""

    def __init__(self, identifier: str, library: Any = None) -> None:
        """`identifier`: its UUID or PCI bus id. Raises OSError where there is no NVML or it knows no such device."""
        self._nvml = library or ctypes.CDLL("libnvidia-ml.so.1")
        self._handle = ctypes.c_void_p()
        by = "nvmlDeviceGetHandleByUUID" if "-" in identifier else "nvmlDeviceGetHandleByPciBusId_v2"
        self._check(self._nvml.nvmlInit_v2())
        self._check(getattr(self._nvml, by)(identifier.encode(), ctypes.byref(self._handle)))

    def facts(self) -> dict[str, str]:
        """What stays the same while it runs."""
        told = {}
        buffer = ctypes.create_string_buffer(96)
        if self._nvml.nvmlSystemGetDriverVersion(buffer, 96) == 0:
            told["driver"] = buffer.value.decode(errors="replace")
        limit = self._figure("nvmlDeviceGetEnforcedPowerLimit")
        if limit is not None:
            told["power limit"] = f"{limit / 1000:g} W"
        for name, clock in (("greatest SM clock", SM_CLOCK), ("greatest memory clock", MEMORY_CLOCK)):
            most = self._figure("nvmlDeviceGetMaxClockInfo", clock)
            if most is not None:
                told[name] = f"{most} MHz"
        return told

    def state(self) -> dict[str, float]:
        """What changes: clocks in MHz, power in W, temperature in degrees Celsius, processes that compute on it."""
        figures: dict[str, Callable[[], float | None]] = {
            "sm_mhz": lambda: self._figure("nvmlDeviceGetClockInfo", SM_CLOCK),
            "memory_mhz": lambda: self._figure("nvmlDeviceGetClockInfo", MEMORY_CLOCK),
            "power_w": lambda: self._figure("nvmlDeviceGetPowerUsage", scale=1000),
            "temperature_c": lambda: self._figure("nvmlDeviceGetTemperature", 0),
            "slowed_down": self._slowed_down,
            "processes": self._processes,
        }
        return {name: float(value) for name, ask in figures.items() if (value := ask()) is not None}

    def _slowed_down(self) -> float | None:
        """1 where heat, power or a brake holds the clocks down, else 0."""
        reasons = ctypes.c_ulonglong()
        if self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle, ctypes.byref(reasons)) != 0:
            return None
        return float(bool(reasons.value & ~NOT_SLOWED_DOWN))

    def _processes(self) -> float | None:
        count = ctypes.c_uint(0)
        found = self._nvml.nvmlDeviceGetComputeRunningProcesses_v3(self._handle, ctypes.byref(count), None)
        return float(count.value) if found in (0, 7) else None  # 7: the list is longer than the room for it, which is 0

    def _figure(self, function: str, *arguments: int, scale: int = 1) -> float | None:
        value = ctypes.c_uint()
        ask = getattr(self._nvml, function, None)
        if ask is None or ask(self._handle, *arguments, ctypes.byref(value)) != 0:
            return None
        return value.value / scale if scale != 1 else value.value

    def _check(self, code: int) -> None:
        if code != 0:
            raise OSError(f"NVML answers {code}")


class Machine:
    """What an arm's process runs on, to be asked before each block."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._device: Device | None = None
        if torch.cuda.is_available():
            try:
                self._device = Device(f"GPU-{torch.cuda.get_device_properties(0).uuid}")
            except (OSError, AttributeError, RuntimeError):
                pass  # no NVIDIA device, or an older torch or driver: then its state is not known

    def facts(self) -> dict[str, str]:
        """Name -> text of what stays the same."""
        torch, told = self._torch, {"processor": processor(), "processors": str(os.cpu_count())}
        for name, value in (
            ("CUDA", getattr(getattr(torch, "version", None), "cuda", None)),
            ("HIP", getattr(getattr(torch, "version", None), "hip", None)),
        ):
            if value:
                told[name] = str(value)
        if torch.cuda.is_available():
            version = getattr(torch.backends.cudnn, "version", lambda: None)()
            told |= {"cuDNN": str(version)} if version else {}
            told["compute capability"] = ".".join(map(str, torch.cuda.get_device_capability()))
        return told | (self._device.facts() if self._device else {})

    def state(self) -> dict[str, float]:
        """Name -> figure of what changes."""
        told = self._device.state() if self._device else {}
        try:
            return {"load": os.getloadavg()[0], **told}
        except OSError:  # not every system has it
            return told


def processor() -> str:
    """The processor's name, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
