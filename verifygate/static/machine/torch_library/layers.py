"""The modules of `torch.nn` that are one operator: their parameters and buffers, and what calling them runs."""

from __future__ import annotations

from verifygate.base.records import record

_F = "torch.nn.functional."


@record
class Layer:
    """A class of `torch.nn` whose call is one operator on its arguments and on what it holds."""

    operator: str
    """Empty where it gives its argument back."""
    parameters: tuple[tuple[str, int | None], ...] = ()
    """Names of the parameters, each with its number of dimensions where every object has the same."""
    buffers: tuple[str, ...] = ()
    """Floating-point buffers."""
    operands: tuple[str, ...] = ()
    """After the arguments of the call, by name."""
    first: tuple[str, ...] = ()
    """Of its own, right after the input: the running averages of a normalisation."""
    is_loss: bool = False


_AFFINE = (("weight", 1), ("bias", 1))
_AVERAGES = ("running_mean", "running_var")


def _weighted(operator: str, dimensions: int | None) -> Layer:
    return Layer(_F + operator, (("weight", dimensions), ("bias", 1)), operands=("weight", "bias"))


_LAYERS: dict[str, Layer] = {
    "Linear": _weighted("linear", 2),
    "LazyLinear": _weighted("linear", 2),
    "Bilinear": _weighted("bilinear", 3),
    "Identity": Layer(""),
    "Embedding": Layer(f"{_F}embedding", (("weight", 2),), operands=("weight",)),
    "EmbeddingBag": Layer(f"{_F}embedding_bag", (("weight", 2),), operands=("weight",)),
    "PReLU": Layer(f"{_F}prelu", (("weight", 1),), operands=("weight",)),
    "LayerNorm": Layer(f"{_F}layer_norm", (("weight", None), ("bias", None)), operands=("weight", "bias")),
    "RMSNorm": Layer(f"{_F}rms_norm", (("weight", None),), operands=("weight",)),
    "GroupNorm": Layer(f"{_F}group_norm", _AFFINE, operands=("weight", "bias")),
    **{f"Conv{n}d": _weighted(f"conv{n}d", n + 2) for n in (1, 2, 3)},
    **{f"ConvTranspose{n}d": _weighted(f"conv_transpose{n}d", n + 2) for n in (1, 2, 3)},
    **{
        name: Layer(f"{_F}batch_norm", _AFFINE, _AVERAGES, operands=("weight", "bias"), first=_AVERAGES)
        for name in ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm")
    },
    **{f"InstanceNorm{n}d": Layer(f"{_F}instance_norm") for n in (1, 2, 3)},
    "Tanh": Layer("torch.tanh"),
    "Sigmoid": Layer("torch.sigmoid"),
    "Flatten": Layer("torch.Tensor.flatten"),
    "Unflatten": Layer("torch.Tensor.unflatten"),
    "ReLU6": Layer(f"{_F}hardtanh"),
    **{
        name: Layer(_F + operator)
        for name, operator in (
            pair.split(":")
            for pair in [
                "ReLU:relu",
                "LeakyReLU:leaky_relu",
                "GELU:gelu",
                "SiLU:silu",
                "ELU:elu",
                "CELU:celu",
                "SELU:selu",
                "Mish:mish",
                "GLU:glu",
                "Hardtanh:hardtanh",
                "Hardswish:hardswish",
                "Hardsigmoid:hardsigmoid",
                "Softplus:softplus",
                "Softsign:softsign",
                "LogSigmoid:logsigmoid",
                "Softmax:softmax",
                "LogSoftmax:log_softmax",
                "Softmin:softmin",
                "Softmax2d:softmax",
                "Dropout:dropout",
                "Dropout1d:dropout1d",
                "Dropout2d:dropout2d",
                "Dropout3d:dropout3d",
                "AlphaDropout:alpha_dropout",
                "MaxPool1d:max_pool1d",
                "MaxPool2d:max_pool2d",
                "MaxPool3d:max_pool3d",
                "AvgPool1d:avg_pool1d",
                "AvgPool2d:avg_pool2d",
                "AvgPool3d:avg_pool3d",
                "AdaptiveAvgPool1d:adaptive_avg_pool1d",
                "AdaptiveAvgPool2d:adaptive_avg_pool2d",
                "AdaptiveAvgPool3d:adaptive_avg_pool3d",
                "AdaptiveMaxPool1d:adaptive_max_pool1d",
                "AdaptiveMaxPool2d:adaptive_max_pool2d",
                "AdaptiveMaxPool3d:adaptive_max_pool3d",
                "Upsample:interpolate",
                "PixelShuffle:pixel_shuffle",
                "PixelUnshuffle:pixel_unshuffle",
                "Unfold:unfold",
                "Fold:fold",
                "ZeroPad1d:pad",
                "ZeroPad2d:pad",
                "ZeroPad3d:pad",
                "ConstantPad1d:pad",
                "ConstantPad2d:pad",
                "ReflectionPad1d:pad",
                "ReflectionPad2d:pad",
                "ReplicationPad1d:pad",
                "ReplicationPad2d:pad",
                "CosineSimilarity:cosine_similarity",
                "PairwiseDistance:pairwise_distance",
            ]
        )
    },
    **{
        name: Layer(_F + operator, is_loss=True)
        for name, operator in (
            pair.split(":")
            for pair in [
                "CrossEntropyLoss:cross_entropy",
                "MSELoss:mse_loss",
                "L1Loss:l1_loss",
                "SmoothL1Loss:smooth_l1_loss",
                "HuberLoss:huber_loss",
                "NLLLoss:nll_loss",
                "KLDivLoss:kl_div",
                "BCELoss:binary_cross_entropy",
                "BCEWithLogitsLoss:binary_cross_entropy_with_logits",
                "CTCLoss:ctc_loss",
                "MarginRankingLoss:margin_ranking_loss",
                "TripletMarginLoss:triplet_margin_loss",
                "CosineEmbeddingLoss:cosine_embedding_loss",
                "PoissonNLLLoss:poisson_nll_loss",
                "GaussianNLLLoss:gaussian_nll_loss",
                "HingeEmbeddingLoss:hinge_embedding_loss",
                "MultiMarginLoss:multi_margin_loss",
                "SoftMarginLoss:soft_margin_loss",
            ]
        )
    },
}

HOLDING = frozenset(
    [
        "LSTM",
        "GRU",
        "RNN",
        "LSTMCell",
        "GRUCell",
        "RNNCell",
        "MultiheadAttention",
        "Transformer",
        "TransformerEncoder",
        "TransformerDecoder",
        "TransformerEncoderLayer",
        "TransformerDecoderLayer",
    ]
)
"""Classes that hold parameters, and whose call is more than one operator: what it gives is not modelled."""
SEQUENCES = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList"})
DICTIONARIES = frozenset({"torch.nn.ModuleDict", "torch.nn.ParameterDict"})
WRAPPERS = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DataParallel"})
"""Modules that run the one that they are given first, as `module`."""


def layer(name: str) -> Layer | None:
    """`torch.nn.Linear` as data; None for what is no single operator."""
    return _LAYERS.get(last_of(name))


def last_of(name: str) -> str:
    """`torch.nn.modules.linear.Linear` -> `Linear`; empty for what is not of `torch.nn`."""
    return name.rpartition(".")[2] if name.startswith("torch.nn.") else ""


def is_module(name: str) -> bool:
    """Whether it is a class of modules."""
    last = last_of(name)
    return (
        last in _LAYERS or last in HOLDING or name in SEQUENCES | DICTIONARIES | WRAPPERS | {"torch.nn.ParameterList"}
    )


def holds_parameters(name: str) -> bool:
    last = last_of(name)
    return last in HOLDING or bool((found := _LAYERS.get(last)) and found.parameters)
