"""A stand-in for torch that starts at once: it has a CUDA device where a file `cuda` lies in the working folder."""

import random
import time
from pathlib import Path
from types import SimpleNamespace

__version__ = "0.0-simulated"
HAS_CUDA = Path("cuda").exists()
memory = {"now": 0, "peak": 0}


class OutOfMemoryError(RuntimeError):
    """As torch's."""


def allocate(count):
    """Set how much is allocated now."""
    memory["now"] = count
    memory["peak"] = max(memory["peak"], count)


def reset_peak():
    memory["peak"] = memory["now"]


def nothing(*_args):
    pass


class Event:
    """A mark on the host's clock."""

    def __init__(self, enable_timing=False):
        assert enable_timing
        self.at = 0.0

    def record(self):
        self.at = time.perf_counter()

    def elapsed_time(self, after):
        return (after.at - self.at) * 1000


cuda = SimpleNamespace(
    is_available=lambda: HAS_CUDA,
    get_device_name=lambda: "Simulated GPU",
    is_bf16_supported=lambda: not Path("cuda").read_text().startswith("old"),
    synchronize=nothing,
    memory_allocated=lambda: memory["now"],
    max_memory_allocated=lambda: memory["peak"],
    memory_reserved=lambda: memory["now"],
    max_memory_reserved=lambda: 2 * memory["peak"],
    empty_cache=nothing,
    get_device_capability=lambda: (7, 0) if Path("cuda").read_text().startswith("old") else (8, 0),
    Event=Event,
    reset_peak_memory_stats=reset_peak,
    OutOfMemoryError=OutOfMemoryError,
)
backends = SimpleNamespace(
    cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=True)),
    cudnn=SimpleNamespace(allow_tf32=True, benchmark=False),
)
set_float32_matmul_precision = nothing
manual_seed = random.seed
threads = [2]


def get_num_threads():
    return threads[0]


def set_num_threads(count):
    threads[0] = count


def get_num_interop_threads():
    return 1


def get_float32_matmul_precision():
    return "highest"


def are_deterministic_algorithms_enabled():
    return False


def get_default_dtype():
    return "torch.float32"
