"""How fast the device multiplies large matrices in each precision: one JSON line for each, as it is measured.

    python tests/performance/matrix_products.py [SIZE]

Torch and the standard library alone. What a precision lacks here is its `reason`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import torch

REPEATS = 20
BLOCKS = 5
PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "float8")


def product(precision: str, size: int, device: str) -> Callable[[], object]:
    """A product of two square matrices, to be called. Raises RuntimeError where it cannot be had."""
    if precision == "tf32" and (device != "cuda" or torch.cuda.get_device_capability() < (8, 0)):
        raise RuntimeError("the device has no TF32")
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision, torch.float32)
    a, b = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    if precision != "float8":
        return lambda: a @ b
    if device != "cuda" or torch.cuda.get_device_capability() < (8, 9):
        raise RuntimeError("the device has no float8")
    one = torch.ones((), device=device)
    a8, b8 = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn).t().contiguous().t()
    return lambda: torch._scaled_mm(a8, b8, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


def measured(precision: str, size: int, device: str) -> dict[str, object]:
    """TFLOP/s of the fastest block."""
    try:
        multiply = product(precision, size, device)
        wait = torch.cuda.synchronize if device == "cuda" else lambda: None
        seconds = []
        for _ in range(BLOCKS):
            multiply()
            wait()
            began = time.perf_counter()
            for _ in range(REPEATS):
                multiply()
            wait()
            seconds.append((time.perf_counter() - began) / REPEATS)
    except RuntimeError as error:
        return {"precision": precision, "reason": str(error).splitlines()[0]}
    return {"precision": precision, "size": size, "tflops": 2 * size**3 / min(seconds) / 1e12}


def main() -> int:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 8192 if device == "cuda" else 256
    for precision in PRECISIONS:
        print(json.dumps(measured(precision, size, device)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
