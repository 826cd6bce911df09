"""The lattice of dtypes, torch's type promotion on it, and the operator policy of CUDA autocast, as tables.

                        UNKNOWN
               /           |         \\
           HALF          OTHER        PYTHON_NUMBER
          /    \\         /    \\
    FLOAT16  BFLOAT16  FLOAT32  FLOAT64

`join` goes up in it: a value that is float16 on one path and bfloat16 on another is HALF, one that is float16 or
float32 is UNKNOWN. Where a rule has to tell each possibility, as of the dtype of a region that a setting chooses, the
analyses keep the set of elements instead of their join.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Dtype(StrEnum):
    """What is known of a dtype, or of the dtype of a value."""

    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    HALF = "float16 or bfloat16"
    """The dtype that the region at hand casts to: within one region all values that are HALF are of one dtype."""
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    OTHER = "another dtype"
    """No half precision, and nothing else is known: float32, float64, integers, booleans."""
    PYTHON_NUMBER = "Python number"
    """No tensor: it takes the dtype of the tensor that it meets."""
    UNKNOWN = "unknown"


HALVES = frozenset({Dtype.FLOAT16, Dtype.BFLOAT16, Dtype.HALF})
_NOT_HALF = frozenset({Dtype.FLOAT32, Dtype.FLOAT64, Dtype.OTHER})

FLOAT16_MAX = 65504.0
FLOAT16_UNDERFLOW = 2.98e-8
"""What is not larger than half of the smallest subnormal rounds to zero."""

BY_NAME = {
    "torch.float16": Dtype.FLOAT16,
    "torch.half": Dtype.FLOAT16,
    "torch.bfloat16": Dtype.BFLOAT16,
    "torch.float32": Dtype.FLOAT32,
    "torch.float": Dtype.FLOAT32,
    "torch.float64": Dtype.FLOAT64,
    "torch.double": Dtype.FLOAT64,
}

AUTOCAST_DEFAULTS = {
    "cuda": Dtype.FLOAT16,
    "cpu": Dtype.BFLOAT16,
    "mps": Dtype.FLOAT16,
    "xpu": Dtype.FLOAT16,
}
"""Device type -> the dtype of a region that names none."""

LOWER_PRECISION_OPERATORS = frozenset(
    """matmul mm bmm addmm baddbmm addbmm einsum linear bilinear mv chain_matmul scaled_dot_product_attention
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d""".split()  # noqa: SIM905
)
"""Operators that autocast runs in half precision, whatever they are given: products of matrices and convolutions."""

FLOAT32_OPERATORS = frozenset(
    {"sum", "prod", "cumsum", "cumprod", "norm", "dist", "cosine_similarity", "softmax", "log_softmax", "softplus"}
    | {"exp", "log", "pow", "reciprocal", "rsqrt", "layer_norm", "group_norm"}
)
"""Operators that autocast runs in float32, whatever they are given."""

FLOAT32_LOSSES = {
    "binary_cross_entropy_with_logits": "BCEWithLogitsLoss",
    "cosine_embedding_loss": "CosineEmbeddingLoss",
    "cross_entropy": "CrossEntropyLoss",
    "hinge_embedding_loss": "HingeEmbeddingLoss",
    "huber_loss": "HuberLoss",
    "kl_div": "KLDivLoss",
    "l1_loss": "L1Loss",
    "margin_ranking_loss": "MarginRankingLoss",
    "mse_loss": "MSELoss",
    "multi_margin_loss": "MultiMarginLoss",
    "multilabel_margin_loss": "MultiLabelMarginLoss",
    "nll_loss": "NLLLoss",
    "poisson_nll_loss": "PoissonNLLLoss",
    "smooth_l1_loss": "SmoothL1Loss",
    "soft_margin_loss": "SoftMarginLoss",
    "triplet_margin_loss": "TripletMarginLoss",
}
"""Losses that autocast runs in float32, on CUDA and on a CPU: function -> module."""

DTYPE_PRESERVING_OPERATORS = frozenset(
    """sigmoid sigmoid_ tanh relu relu_ gelu silu leaky_relu hardtanh mean view reshape transpose permute squeeze
    unsqueeze flatten contiguous clone detach abs chunk split repeat expand masked_fill masked_fill_ masked_select
    gather index_select clamp clamp_ clamp_min dropout t flip roll neg sort topk max min amax amin div mul sub add div_
    mul_ sub_ add_ std var sqrt sqrt_""".split()  # noqa: SIM905
)
"""Operators that run in the dtype of what they are given."""

NUMBER_METHODS = frozenset({"size", "dim", "numel", "item"})
"""Methods of a tensor that give a Python number."""


def named(name: str) -> Dtype:
    """The dtype that a qualified name stands for: any other name of torch is taken for some other dtype."""
    return BY_NAME.get(name, Dtype.OTHER if name.startswith("torch.") else Dtype.UNKNOWN)


def join(dtypes: Iterable[Dtype]) -> Dtype:
    """Least upper bound: what is known of a value that is one of several. UNKNOWN of none."""
    found = set(dtypes)
    if len(found) == 1:
        return found.pop()
    if found and found <= HALVES:
        return Dtype.HALF
    return Dtype.OTHER if found and found <= _NOT_HALF else Dtype.UNKNOWN


def promote(left: Dtype, right: Dtype) -> Dtype:
    """The dtype of an element-wise operator on two operands: `half + float32` is float32, `half * 2.0` is half.

    ============== ============== =======
    one            other          result
    ============== ============== =======
    PYTHON_NUMBER  any            any
    FLOAT64        any            FLOAT64
    FLOAT32        any other      FLOAT32
    the same       the same       itself
    FLOAT16        BFLOAT16       FLOAT32
    all else                      UNKNOWN
    ============== ============== =======

    FLOAT32 with UNKNOWN is FLOAT32: no half tensor comes of it, and float64 is rare.
    """
    pair = {left, right}
    if len(pair) == 1:
        return left
    if Dtype.PYTHON_NUMBER in pair:
        (other,) = pair - {Dtype.PYTHON_NUMBER}
        return other
    if Dtype.FLOAT64 in pair:
        return Dtype.FLOAT64
    if Dtype.FLOAT32 in pair or pair == {Dtype.FLOAT16, Dtype.BFLOAT16}:
        return Dtype.FLOAT32
    return Dtype.UNKNOWN


def half_or_unknown(dtype: Dtype) -> Dtype:
    """The dtype where it is half, and UNKNOWN otherwise: of an element of a number, or of a view of float32."""
    return dtype if dtype in HALVES else Dtype.UNKNOWN
