"""The functions and classes of `torch.cuda`, answered by a machine that has none.

What is not emulated says so by name through a `Gaps` object: memory figures are 0, times are NaN, and neither can be
taken for a measurement.
"""

from __future__ import annotations

import contextlib
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.machinery import PathFinder
from types import SimpleNamespace
from typing import Any

import torch
from torch.nn import attention

from ..patching.frames import caller, foreign
from . import entry_points
from .gaps import Gaps
from .graphs import CUDAGraph, Graph
from .objects import Device, Event, Generator, Stream, StreamContext, TensorType, device_class
from .tensors import is_cuda

NAME = "CUDA emulated on the CPU by verifygate"
TOTAL_MEMORY = 16 * 2**30
KERNEL_PACKAGES = ("triton", "flash_attn", "xformers", "apex", "bitsandbytes", "transformer_engine", "cupy", "pycuda")


def install(gaps: Gaps, capability: tuple[int, int]) -> None:
    """Put all of it in the place of torch's own."""
    Event.gaps = CUDAGraph.gaps = gaps
    cuda: Any = torch.cuda
    for names, value in _answers(gaps, capability).items():
        for name in names.split():
            _put(cuda, name, value)
    for name in "Byte Char Short Int Long Half Float Double Bool BFloat16".split():
        plain = getattr(torch, f"{name}Tensor")
        named = {"plain": plain, "__module__": "torch.cuda"}
        setattr(cuda, f"{name}Tensor", TensorType(f"{name}Tensor", (), named))
    _memory(gaps)
    entry_points.install(gaps, capability)
    _around(gaps)


def _put(module: Any, name: str, value: Any) -> None:
    """Put `value` there under a name that this torch knows, in its own module and in torch.cuda."""
    owner = sys.modules.get(getattr(getattr(module, name, None), "__module__", ""), module)
    if hasattr(module, name):
        if hasattr(owner, name):
            setattr(owner, name, value)
        setattr(module, name, value)


def _nothing(*_args: Any, **_kwargs: Any) -> None: ...


def _answers(gaps: Gaps, capability: tuple[int, int]) -> dict[str, Any]:
    """Names in torch.cuda -> what stands there."""
    return _device(gaps, capability) | _random_numbers() | _streams() | _graphs(gaps)


def _device(gaps: Gaps, capability: tuple[int, int]) -> dict[str, Any]:
    """One device, which is always there."""
    major, minor = capability
    properties = SimpleNamespace(
        name=NAME,
        major=major,
        minor=minor,
        total_memory=TOTAL_MEMORY,
        multi_processor_count=108,
        warp_size=32,
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536,
        shared_memory_per_block=49152,
        L2_cache_size=40 * 2**20,
        is_integrated=0,
        is_multi_gpu_board=0,
        gcnArchName="",
        uuid="emulated",
    )

    def is_bf16_supported(including_emulation: bool = True) -> bool:
        return including_emulation or major >= 8

    return {
        "is_available is_initialized": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "init _lazy_init ipc_collect set_sync_debug_mode": _nothing,
        "get_sync_debug_mode": lambda: 0,
        "set_device": lambda device=None: _nothing(is_cuda(device)),
        "synchronize": gaps.wrap("waiting for the device", _nothing),
        "get_device_name": lambda device=None: NAME,
        "get_device_capability": lambda device=None: capability,
        "get_device_properties": lambda device=None: properties,
        "get_arch_list": lambda: [f"sm_{major}{minor}"],
        "is_bf16_supported": is_bf16_supported,
        "is_tf32_supported": lambda: major >= 8,
        "can_device_access_peer": lambda device=None, peer_device=None: False,
        "device device_of _DeviceGuard": Device,
        "utilization temperature power_draw clock_rate memory_usage device_memory_used": gaps.wrap(
            "device sensors", lambda device=None: 0
        ),
    }


def _random_numbers() -> dict[str, Any]:
    """The device draws its numbers from the CPU's generator."""

    def seed_all() -> None:
        torch.default_generator.seed()

    return {
        "manual_seed manual_seed_all": lambda seed: _nothing(torch.default_generator.manual_seed(int(seed))),
        "seed seed_all": seed_all,
        "initial_seed": lambda: torch.default_generator.initial_seed(),
        "get_rng_state": lambda device="cuda": torch.default_generator.get_state(),
        "get_rng_state_all": lambda: [torch.default_generator.get_state()],
        "set_rng_state": lambda new_state, device="cuda": _nothing(torch.default_generator.set_state(new_state)),
        "set_rng_state_all": lambda new_states: _nothing(*map(torch.default_generator.set_state, new_states)),
    }


def _streams() -> dict[str, Any]:
    """Streams and events; whatever is current, it is one and the same stream."""
    stream = Stream()

    def default_stream(device: Any = None) -> Stream:
        return stream

    return {
        "Stream ExternalStream": Stream,
        "Event": Event,
        "StreamContext": StreamContext,
        "stream": lambda stream: StreamContext(stream),
        "set_stream": _nothing,
        "current_stream default_stream": default_stream,
        "is_current_stream_capturing": lambda: CUDAGraph.capturing,
    }


def _graphs(gaps: Gaps) -> dict[str, Any]:
    """Capture and replay, and what of the device is not emulated."""
    return {
        "CUDAGraph": CUDAGraph,
        "graph": Graph,
        "make_graphed_callables": gaps.refuse("graphed callables", "torch.cuda.make_graphed_callables"),
        "graph_pool_handle": lambda: (0, 0),
        "cudart current_blas_handle get_stream_from_external": gaps.refuse("device handles", "a CUDA handle"),
    }


def _memory(gaps: Gaps) -> None:
    """Figures that cannot be taken for a measurement: every one of them is 0."""
    figures = (
        "memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_cached max_memory_cached "
        "host_memory_stats"
    ).split()
    resets = (
        "reset_peak_memory_stats reset_accumulated_memory_stats reset_max_memory_allocated reset_max_memory_cached "
        "reset_peak_host_memory_stats reset_accumulated_host_memory_stats"
    ).split()
    answers: dict[str, Callable[..., Any]] = {name: lambda device=None: 0 for name in figures}
    answers |= {
        "memory_stats": lambda device=None: defaultdict(int),
        "memory_stats_as_nested_dict": lambda device=None: {},
        "host_memory_stats": lambda: defaultdict(int),
        "memory_summary": lambda device=None, abbreviated=False: "memory is not emulated",
        "memory_snapshot": lambda *_args, **_kwargs: [],
        "list_gpu_processes": lambda device=None: "memory is not emulated",
        "mem_get_info": lambda device=None: (TOTAL_MEMORY, TOTAL_MEMORY),
        "_record_memory_history": lambda *_args, **_kwargs: None,
        "_snapshot": lambda *_args, **_kwargs: {"segments": [], "device_traces": []},
        "_dump_snapshot": lambda *_args, **_kwargs: None,
    }
    memory = torch.cuda.memory
    for name, answer in answers.items():
        for module in (torch.cuda, memory):
            if hasattr(module, name):
                setattr(module, name, gaps.wrap("memory", answer))
    for name in (*resets, "empty_cache", "set_per_process_memory_fraction"):
        for module in (torch.cuda, memory):
            if hasattr(module, name):
                setattr(module, name, lambda *_args, **_kwargs: None)


def _around(gaps: Gaps) -> None:
    """What lies around torch.cuda: generators, versions, ranges, compilers, attention kernels, extensions."""
    everything: Any = torch
    everything.Generator = Generator
    everything.device = device_class()
    everything.jit._builtins._register_builtin(everything.device, "aten::device")  # for TorchScript
    everything.version.cuda = everything.version.cuda or "12.8"
    everything.backends.cuda.is_built = lambda: True
    accelerator = everything.accelerator if hasattr(torch, "accelerator") else SimpleNamespace()
    for name, answer in {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
        "current_device_index": lambda: 0,
        "current_device_idx": lambda: 0,
        "set_device_index": lambda device: None,
        "set_device_idx": lambda device: None,
        "current_stream": lambda device=None: torch.cuda.current_stream(),
        "synchronize": lambda device=None: torch.cuda.synchronize(),
    }.items():
        if hasattr(accelerator, name):
            setattr(accelerator, name, answer)

    @contextlib.contextmanager
    def nothing(*_args: Any, **_kwargs: Any) -> Iterator[None]:
        yield

    nvtx: Any = torch.cuda.nvtx
    nvtx.range_push = nvtx.range_pop = nvtx.mark = lambda *_args, **_kwargs: 0
    nvtx.range_start, nvtx.range_end = (lambda *_args, **_kwargs: 0), (lambda *_args, **_kwargs: None)
    nvtx.range = nothing
    profiler: Any = torch.cuda.profiler
    profiler.start = profiler.stop = lambda: None
    profiler.profile = nothing
    jiterator: Any = torch.cuda.jiterator
    jiterator._create_jit_fn = jiterator._create_multi_output_jit_fn = gaps.refuse("custom kernels", "jiterator")
    everything.backends.cuda.sdp_kernel = gaps.wrap("attention kernels", nothing)
    kernels: Any = attention
    kernels.sdpa_kernel = gaps.wrap("attention kernels", nothing)
    _put(torch.cuda, "_compile_kernel", gaps.refuse("custom kernels", "torch.cuda._compile_kernel"))
    everything.compile = _eager(gaps)
    sys.meta_path.insert(0, _KernelPackages(gaps))


def _eager(gaps: Gaps) -> Callable[..., Any]:
    """`torch.compile`, whose result runs eagerly; a module still comes back wrapped, with its `_orig_mod`."""

    def compiled(model: Any = None, **kwargs: Any) -> Any:
        if model is None:
            return lambda function: compiled(function, **kwargs)
        if not isinstance(model, torch.nn.Module):
            return gaps.wrap("torch.compile", model)  # packages compile functions that nobody calls
        gaps("torch.compile")
        from torch._dynamo.eval_frame import DisableContext, OptimizedModule

        return OptimizedModule(model, DisableContext())

    return compiled


class _KernelPackages:
    """A finder that finds nothing; it says when the project imports a package of CUDA kernels that is there.

    Packages import others of CUDA kernels where they are installed, and go without their kernels on a CPU: torch
    triton, peft bitsandbytes. That is no gap; to launch one of them raises.
    """

    def __init__(self, gaps: Gaps) -> None:
        self._gaps = gaps

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name in KERNEL_PACKAGES and (_is_package_importing() or PathFinder.find_spec(name) is None):
            return
        if name in (*KERNEL_PACKAGES, "torch.utils.cpp_extension"):
            self._gaps("custom kernels")


def _is_package_importing() -> bool:
    """Whether an installed package has the import statement that is being executed."""
    importer, _ = caller(lambda path: path == __file__ or path.startswith("<"))
    return foreign(importer)
