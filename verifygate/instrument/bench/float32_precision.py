"""In which precision float32 is multiplied: IEEE, or something shorter that a switch of the backend allows.

CUDA's matrix products and cuDNN's convolutions have a switch each. From torch 2.9 on they are strings, in a hierarchy
(`none` leaves it to what is above); before, they were booleans. To read one interface where the other was used raises.
"""

from __future__ import annotations

from typing import Any

NAMES = {"ieee": "IEEE", "tf32": "TF32", "bf16": "bfloat16", "bf16x9": "bfloat16 nine times"}
UNKNOWN = "not known"
MIXED = "not known: both of torch's interfaces for it were used"


def set_tf32(torch: Any, on: bool) -> None:
    """Switch TF32 on or off in every backend: off, FP32 is multiplied in FP32."""
    torch.set_float32_matmul_precision("high" if on else "highest")
    backends = torch.backends
    if not hasattr(backends, "fp32_precision"):  # torch before 2.9
        backends.cuda.matmul.allow_tf32 = backends.cudnn.allow_tf32 = on
        return
    for place in (backends, backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn):
        place.fp32_precision = "tf32" if on else "ieee"


def computed_in(torch: Any, device: str) -> dict[str, str]:
    """What the switches say of each kind of work on a device; a CPU has switches of its own, and no TF32."""
    backends = torch.backends
    if hasattr(backends, "fp32_precision"):
        products, others = ("cuda", "cudnn") if device == "cuda" else ("mkldnn", "mkldnn")
        return {
            "matrix products": _asked(backends, products, "matmul"),
            "convolutions": _asked(backends, others, "conv"),
            "recurrent layers": _asked(backends, others, "rnn"),
        }
    if device == "cuda":
        cudnn = _switched(getattr(backends, "cudnn", None))
        products = _switched(getattr(getattr(backends, "cuda", None), "matmul", None))
        return {"matrix products": products, "convolutions": cudnn, "recurrent layers": cudnn}
    rounded = torch.get_float32_matmul_precision() == "medium"
    return {"matrix products": NAMES["bf16" if rounded else "ieee"], "convolutions": NAMES["ieee"]}


def _asked(backends: Any, backend: str, work: str) -> str:
    """The string that holds for one kind of work: its own, or that of the nearest that is set above it."""
    above = getattr(backends, backend, None)
    for place in (getattr(above, work, None), above, backends):
        try:
            value = str(getattr(place, "fp32_precision", "none"))
        except RuntimeError:
            return MIXED
        if value != "none":
            return NAMES.get(value, value)
    return NAMES["ieee"]


def _switched(place: Any) -> str:
    try:
        on = getattr(place, "allow_tf32", None)
    except RuntimeError:
        return MIXED
    return UNKNOWN if on is None else NAMES["tf32" if on else "ieee"]
