"""CUDA's autocast operator policy, put on the CPU's autocast key.

Under autocast, CUDA and the CPU do not treat the same operators alike: CUDA lifts softmax, norms, sums and powers to
float32, where the CPU leaves them in half, and it refuses `binary_cross_entropy`. After `install()` the CPU does what
CUDA does, forward and backward, on ordinary CPU tensors. The tables below are those of ATen/autocast_mode.h of torch
2.13; an operator that the installed torch does not have is left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch

LOWER = (
    "_convolution _convolution.deprecated conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d.input "
    "conv_transpose3d.input convolution prelu addmm addmv addr matmul einsum mm mv linalg_vecdot linear addbmm baddbmm "
    "bmm chain_matmul linalg_multi_dot _thnn_fused_lstm_cell _thnn_fused_gru_cell lstm_cell gru_cell rnn_tanh_cell "
    "rnn_relu_cell _scaled_dot_product_flash_attention scaled_dot_product_attention"
).split()
"""Floating-point inputs are cast to the region's dtype."""

RECURRENT = (
    "lstm.input lstm.data gru.input gru.data rnn_tanh.input rnn_tanh.data rnn_relu.input rnn_relu.data"
).split()
"""CUDA casts the inputs of a whole recurrent layer when it reaches cuDNN; here that is done one call earlier."""

FLOAT32 = (
    "acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow.Tensor_Scalar "
    "pow.Tensor_Tensor pow.Scalar softplus layer_norm native_layer_norm rms_norm group_norm frobenius_norm.dim "
    "nuclear_norm nuclear_norm.dim cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d "
    "hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss "
    "multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss "
    "binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp upsample_nearest1d "
    "_upsample_nearest_exact1d upsample_nearest2d _upsample_nearest_exact2d upsample_nearest3d "
    "_upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d "
    "upsample_bicubic2d _upsample_bicubic2d_aa"
).split()
"""Floating-point inputs are cast to float32."""

FLOAT32_OUTPUT = (
    "prod prod.dim_int softmax.int log_softmax.int cumprod cumsum linalg_vector_norm linalg_matrix_norm "
    "linalg_matrix_norm.str_ord sum sum.dim_IntList"
).split()
"""The result is float32, unless the call itself asks for a dtype."""

APPENDED_DTYPE = {"norm.Scalar": "norm.ScalarOpt_dtype", "norm.ScalarOpt_dim": "norm.ScalarOpt_dim_dtype"}
"""The result is float32; the operator goes on as another overload, which takes a dtype."""

WIDEST = ("addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add").split()
"""Inputs are cast to the widest floating-point dtype among them."""

BANNED = ("binary_cross_entropy",)

UNTOUCHED = (
    "_addmm_activation _lu_with_info _native_multi_head_attention cat cholesky cholesky_inverse "
    "cholesky_solve cross_entropy_loss ctc_loss.IntList ctc_loss.Tensor geqrf index_copy inverse linalg_cholesky "
    "linalg_cholesky_ex linalg_cond linalg_cond.p_str linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh "
    "linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank "
    "linalg_matrix_rank.atol_rtol_float linalg_matrix_rank.atol_rtol_tensor linalg_matrix_rank.tol_tensor linalg_qr "
    "linalg_solve linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve lu_solve nanquantile "
    "nanquantile.scalar orgqr ormqr pinverse qr quantile quantile.scalar stack svd triangular_solve"
).split()
"""The CPU's autocast handles these and CUDA's does not, so that half inputs are promoted or refused as without it."""

KEPT_LOW = (
    "adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d fake_quantize_per_tensor_affine fractional_max_pool2d "
    "fractional_max_pool3d grid_sampler_2d grid_sampler_3d max_pool3d max_unpool2d max_unpool3d "
    "multilabel_margin_loss_forward reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d "
    "replication_pad3d trace"
).split()
"""CUDA computes these in half; the CPU may lack that kernel, so it computes in float32 and rounds to half."""

NOT_COVERED = {
    "fft": "fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn "
    "fft_rfft fft_rfft2 fft_rfftn stft stft.center polar view_as_complex"
}
"""Left as the CPU has it: CUDA has half-precision kernels here that no CPU kernel stands in for."""

_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
_HALVES = (torch.float16, torch.bfloat16)

Kernel = Callable[..., Any]


class Policy:
    """The installed kernels. They stay as long as this object does, or until `remove()`."""

    def __init__(self, not_emulated: Callable[[str], None]) -> None:
        """Register everything. `not_emulated("fft")` is called when an operator that is not covered meets a half."""
        library: Any = torch.library
        self._library = library.Library("aten", "IMPL")
        self._not_emulated = not_emulated
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says once that kernels are overridden: that is the point
            self._register_all()

    def _register_all(self) -> None:
        for names, make in (
            (LOWER, _lower),
            (RECURRENT, _lower),
            (FLOAT32, _float32),
            (FLOAT32_OUTPUT, _float32_output),
            (APPENDED_DTYPE, _appended_dtype),
            (WIDEST, _widest),
            (BANNED, _refused),
            (KEPT_LOW, _kept_low),
        ):
            self._register(names, make)
        self._register(NOT_COVERED["fft"].split(), self._said)
        for name in filter(_has_cpu_policy, UNTOUCHED):
            self._library.impl(name, torch.library.fallthrough_kernel, "AutocastCPU", allow_override=True)

    def remove(self) -> None:
        """Give the CPU its own policy back."""
        self._library._destroy()

    def _register(self, names: Iterable[str], make: Callable[[Any], Kernel]) -> None:
        for name in names:
            if same_on_both(name) or (operator := _operator(name)) is None:
                continue
            self._library.impl(name, make(operator), "AutocastCPU", allow_override=_has_cpu_policy(name))

    def _said(self, operator: Any) -> Kernel:
        """The CPU's policy (float32), and a word about it."""
        lifted = _float32(operator)

        def kernel(*args: Any, **kwargs: Any) -> Any:
            if any(tensor.dtype in _HALVES for tensor in _eligible((args, *kwargs.values()))):
                self._not_emulated("fft")
            return lifted(*args, **kwargs)

        return kernel


def same_on_both(name: str) -> bool:
    """Whether the CPU's own kernel already does what CUDA's does: it is torch's, with its cache of cast weights."""
    return name in (*LOWER, *FLOAT32) and _has_cpu_policy(name)


def _has_cpu_policy(name: str) -> bool:
    known = _operator(name) is not None
    return known and torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "AutocastCPU")


def _operator(name: str) -> Any:
    """`softmax.int` as torch.ops has it; None where this torch has no such operator."""
    base, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, base, None)
    return getattr(packet, overload or "default", None)


def _without_autocast(operator: Any, args: Any, kwargs: Any) -> Any:
    with torch._C._ExcludeDispatchKeyGuard(_KEYS):
        return operator(*args, **kwargs)


def _is_eligible(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.is_floating_point()
        and value.dtype is not torch.float64
        and value.device.type in ("cpu", "cuda")  # an emulated CUDA tensor says cuda
    )


def _eligible(value: Any) -> Iterable[torch.Tensor]:
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _eligible(one)
    elif _is_eligible(value):
        yield value


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, (list, tuple)):
        return [_cast(one, dtype) for one in value]
    return value.to(dtype) if _is_eligible(value) else value


def _redispatched(operator: Any, args: Any, kwargs: Any, dtype: torch.dtype) -> Any:
    args = [_cast(one, dtype) for one in args]
    return _without_autocast(operator, args, {name: _cast(one, dtype) for name, one in kwargs.items()})


def _lower_dtype() -> torch.dtype:
    return torch._C.get_autocast_dtype("cpu")


def _lower(operator: Any) -> Kernel:
    return lambda *args, **kwargs: _redispatched(operator, args, kwargs, _lower_dtype())


def _float32(operator: Any) -> Kernel:
    return lambda *args, **kwargs: _redispatched(operator, args, kwargs, torch.float32)


def _float32_output(operator: Any) -> Kernel:
    place = [argument.name for argument in operator._schema.arguments].index("dtype")

    def kernel(*args: Any, **kwargs: Any) -> Any:
        asked = args[place] if len(args) > place else kwargs.get("dtype")
        if asked is None and any(True for _ in _eligible((args, *kwargs.values()))):
            args, kwargs = args[:place], {**kwargs, "dtype": torch.float32}
        return _without_autocast(operator, args, kwargs)

    return kernel


def _appended_dtype(operator: Any) -> Kernel:
    name = operator.name().removeprefix("aten::")
    wider = _operator(APPENDED_DTYPE[name])

    def kernel(tensor: torch.Tensor, p: Any = None, *rest: Any, **kwargs: Any) -> Any:
        if name == "norm.Scalar":
            p = 2 if p is None else p
        elif len(rest) < 2:
            rest = (*rest, kwargs.pop("keepdim", False))
        dtype = torch.float32 if _is_eligible(tensor) else tensor.dtype
        return _without_autocast(wider, (tensor, p, *rest), {**kwargs, "dtype": dtype})

    return kernel


def _widest(operator: Any) -> Kernel:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        wide = any(tensor.dtype is torch.float32 for tensor in _eligible((args, *kwargs.values())))
        return _redispatched(operator, args, kwargs, torch.float32 if wide else _lower_dtype())

    return kernel


def _refused(_operator: Any) -> Kernel:
    def kernel(*_args: Any, **_kwargs: Any) -> Any:
        raise RuntimeError(
            "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
            "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
            "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
            "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\nsafe to autocast."
        )

    return kernel


def _kept_low(operator: Any) -> Kernel:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        given = {tensor.dtype for tensor in _eligible((args, *kwargs.values()))}
        if len(given) != 1 or given == {torch.float32}:
            return _without_autocast(operator, args, kwargs)
        result = _redispatched(operator, args, kwargs, torch.float32)
        (half,) = given
        return tuple(_cast(one, half) for one in result) if isinstance(result, tuple) else _cast(result, half)

    return kernel
