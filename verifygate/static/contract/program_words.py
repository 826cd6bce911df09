"""Words in the bytes of a file on which derived rows rest: casts of weights, optimizers, DDP, scalers, checkpoints."""

from __future__ import annotations

import re

from verifygate.base.records import record
from verifygate.sources.byte_patterns import Alternatives
from verifygate.sources.file import SourceFile

_TORCHS = rb"Adam|AdamW|SGD|Adamax|NAdam|RAdam|Adagrad|Adadelta|RMSprop|ASGD|LBFGS|Rprop|SparseAdam|Adafactor"
_OPTIMIZER = re.compile(rb"(" + _TORCHS + rb")\(")
_OF_TORCH = re.compile(rb"(?:^|[^\w.])(torch\.optim\.|optim\.|)$")
"""What may stand before the name of an optimizer: at most as much as `_BEFORE` bytes."""
_BEFORE = 1 + len(b"torch.optim.")
_IMPORTED = re.compile(rb"from[ \t]+torch\.optim[ \t]+import\b[^\n]*")
_DDP = re.compile(rb"(?<!class )\b(?:DistributedDataParallel|DDP)\(")
_TORCHS_DDP = (b"torch.nn.parallel", b"nn.parallel.DistributedDataParallel")
_HOOKS = (b"register_comm_hook", b"allreduce_always_fp32")
_ACCUMULATES = r"Gradient_?[Aa]ccumulator|gradient_?[Aa]ccumulator"
_OWN_GRADIENTS = Alternatives(
    r"main_grad|grad_accum_dtype|accumulate_grad_in_fp32|master_param|fp32_param"
    r"|\.grad(?:\.data)?[ \t]*=(?![ \t]*(?:None\b|=))|\.grad(?:\.data)?\.(?:to|float|half|bfloat16)\("
    rf"|{_ACCUMULATES}"
)
_OWN_MASTERS = Alternatives(rf"master_(?:param|weight)|fp32_(?:param|weight|copy)|{_ACCUMULATES}")
_SCALES = Alternatives(r"scaler(?!s?_?(?:dict)?[ \t]*=[ \t]*none)|loss_scal|apex|native_amp|unscale_|\.scale\(")
"""In the bytes of a file in small letters."""
_DRIVES = re.compile(
    rb"autocast|GradScaler|torch_xla|\b(?:torch|apex)\b[^\n]*\bamp\b|\.unscale_\(|\.scale\([^\n]*\)\.backward\("
)
_USES_SCALER = re.compile(rb"\.scale\(|[(,]\s*\w*scaler\w*\s*=\s*\w")
_SETS_AUTOCAST = re.compile(rb"set_autocast\w*dtype")
_DEVICE = (
    rb"\s*(?:f?[\"'](?:cuda|cpu|mps|xpu)[^\"']*[\"']|[\w.\[\]\"']*(?:device|rank|gpu)[\w.\[\]\"']*|torch\.device\([^()]*\))"
    rb"\s*(?:,\s*non_blocking\s*=\s*\w+\s*)?\)"
)
_CASTS = re.compile(
    rb"\.(?:half|bfloat16|double)\(\)|\.to\((?!" + _DEVICE + rb")|\.type\(|\bdtype[ \t]*=(?![ \t]*(?:=|None\b))"
    rb"|set_default_dtype|set_default_tensor_type|torch_dtype|weight_dtype|master_weight|from_pretrained\(|from_config\("
    rb"|assign[ \t]*=[ \t]*True|hub\.load|(?:import|from)[ \t]+(?:deepspeed|megatron|apex)"
    rb"|load_in_[48]bit|init_empty_weights|EmptyInit|torch\.jit\.load|torch\.load\([^\n]*\)\.(?:cuda|to|train)"
)
"""What may cast weights: a `to` of anything but a device, a `dtype=`, what loads a model by a library."""
_HARMLESS = re.compile(
    rb"autocast|\{[ \t]*[^{}]*?:[ \t]*\w+[\w.()]*\.(?:half|bfloat16)\(\)|\.(?:to|type)\([^()\n]*\b\w+\.dtype\)"
    rb"|\.to\((?:dtype[ \t]*=[ \t]*)?torch\.(?:float32|float|u?int\d+|long|bool)\)|def from_pretrained"
    rb"|dtype[ \t]*=[ \t]*(?:torch\.(?:float32|u?int\d+|long|bool)|np\.\w+)\b|[Tt]okenizer|[Pp]rocessor"
    rb"|tensor|torch\.(?:arange|zeros|ones|full|rand)"
)
"""What is known to be about tensors of a batch, about autocast, or about float32."""
_STATES = re.compile(rb"\.(save_state|save_checkpoint)\(")
_UNSAVED = re.compile(rb"enable_checkpointing|save_weights_only|save_only_model|checkpoint_callback")


@record(kw_only=True)
class FileWords:
    """What one file says; a line of 0 where it does not."""

    may_cast: int = 0
    """The first line that may give weights another dtype than torch's default."""
    optimizer: int = 0
    """The first optimizer of torch that is made."""
    optimizer_name: str = ""
    ddp: int = 0
    """The first DistributedDataParallel that is made."""
    owns_gradients: bool = False
    """Whether it keeps or casts gradients itself, or hooks their reduction."""
    owns_masters: bool = False
    """Whether it keeps a copy of the weights that the optimizer steps in their place."""
    names_deepspeed: bool = False
    may_scale: bool = False
    """Whether it speaks of a scaler, or calls a `scale`."""
    may_drive: int = 0
    """The first line that uses AMP, by its words."""
    uses_scaler: bool = False
    """Whether it calls a `scale`, or hands a scaler over."""
    sets_autocast: bool = False
    """Whether it sets the dtype that a region without one takes."""
    saves_state: int = 0
    """The first `save_state` or `save_checkpoint`, of Accelerate and of DeepSpeed."""
    saves_by: str = ""
    leaves_out: bool = False
    """Whether it tells a framework what its checkpoints leave out."""


def file_words(file: SourceFile) -> FileWords | None:
    """The words of a file; None where it says nothing."""
    data = file.data
    if b"torch" not in data and b"lightning" not in data and b"accelerate" not in data:
        return None
    small = data.lower()
    optimizer = _first_optimizer(file)
    ddp = _first(file, _DDP) if any(word in data for word in _TORCHS_DDP) else None
    state = _first(file, _STATES)
    found = FileWords(
        may_cast=_first_cast(file),
        optimizer=_line(data, optimizer.start()) if optimizer is not None else 0,
        optimizer_name=optimizer[1].decode() if optimizer is not None else "",
        ddp=_line(data, ddp.start()) if ddp is not None else 0,
        owns_gradients=any(word in data for word in _HOOKS) or _OWN_GRADIENTS.found_in(data),
        owns_masters=_OWN_MASTERS.found_in(data),
        names_deepspeed=b"deepspeed" in small,
        may_scale=_SCALES.found_in(small),
        may_drive=_line(data, drives.start()) if (drives := _first(file, _DRIVES)) is not None else 0,
        uses_scaler=_USES_SCALER.search(data) is not None,
        sets_autocast=_SETS_AUTOCAST.search(data) is not None,
        saves_state=_line(data, state.start()) if state is not None else 0,
        saves_by=state[1].decode() if state is not None else "",
        leaves_out=_UNSAVED.search(data) is not None,
    )
    return found if found != FileWords() else None


def _first(file: SourceFile, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
    return next((hit for hit in pattern.finditer(file.data) if file.is_code(hit.start())), None)


def _first_optimizer(file: SourceFile) -> re.Match[bytes] | None:
    """The first optimizer that is torch's by its path, or by an import."""
    imports = b" ".join(_IMPORTED.findall(file.data)) if b"torch.optim" in file.data else b""
    for hit in _OPTIMIZER.finditer(file.data) if b"optim" in file.data else ():
        path = _OF_TORCH.search(file.data[max(0, hit.start() - _BEFORE) : hit.start()])
        if path is None or not (path[1] or re.search(rb"\b" + hit[1] + rb"\b", imports)):
            continue
        if file.is_code(hit.start()):
            return hit
    return None


def _first_cast(file: SourceFile) -> int:
    for hit in _CASTS.finditer(file.data):
        start = file.data.rfind(b"\n", 0, hit.start()) + 1
        end = file.data.find(b"\n", hit.end())
        text = file.data[start : end if end != -1 else len(file.data)]
        if not text.lstrip().startswith(b"#") and not _HARMLESS.search(text) and file.is_code(hit.start()):
            return _line(file.data, hit.start())
    return 0


def _line(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1
