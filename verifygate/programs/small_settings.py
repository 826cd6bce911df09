"""Propose settings that make a run of a program small: a few steps of a small model on a small batch.

What is proposed is always an option that the program declares, with a value of its type and among its choices. An
option of another meaning under a usual name (`--steps` of a sampler) gets a value that does no harm: the run is
stopped after a few updates anyway, so what counts is the size of one step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from verifygate.programs.option import NOT_KNOWN, Option, Takes

Value = Callable[[Option, "Around"], list[str] | None]
"""The values to give to an option; None to leave it as it is, an empty list to switch it on."""

_YES = {"str2bool": "true", "bool": "True", "str_to_bool": "true", "strtobool": "true", "boolean": "true"}
"""The type of an option that takes a yes -> how to say it."""
_DIRECTORY = re.compile(r"dir|folder|path|root|^out(?:put|f)?$")
_SMALL_WORDS = re.compile(r"(?:^|[-_.\d])(?i:tiny|nano|mini|small|toy|micro|xs|test)(?:[-_.\d]|$)|^resnet18$")
_HEADS = frozenset({"nhead", "nheads", "n_head", "n_heads", "num_heads", "num_attention_heads", "heads"})
_FAKE = re.compile(r"fake|synthetic|dummy|random|toy", re.IGNORECASE)
_HALF = ("fp16", "float16", "16-mixed", "16", "half", "amp", "mixed", "bf16", "bfloat16", "bf16-mixed")
"""What a precision may be called, the one that needs a loss scale first."""


@dataclass(frozen=True)
class Around:
    """What else is known of the program."""

    names: frozenset[str]
    """The names of all its options."""
    needs_cuda: bool
    has_heads: bool
    """Whether something in it has attention heads, whose number divides the width."""


@dataclass(frozen=True)
class Proposal:
    """An option, and the words that set it."""

    option: Option
    words: tuple[str, ...]
    value: object
    """What the program reads then: a text, or True for a switch."""

    @property
    def is_size(self) -> bool:
        """Whether it makes the model or its inputs smaller, and not only the run shorter."""
        return any(names.fullmatch(self.option.name.lower()) for names, _ in _SIZES)


def proposals(options: Iterable[Option], *, needs_cuda: bool, has_heads: bool) -> list[Proposal]:
    """The settings that make a run small, in the order in which the options are declared."""
    declared = {option.flag or option.name: option for option in options}
    around = Around(frozenset(each.name.lower() for each in declared.values()), needs_cuda, has_heads)
    found = []
    for option in declared.values():
        value = next(
            (give for names, give in (*_LENGTHS, *_SIZES, *_OTHERS) if names.fullmatch(option.name.lower())), None
        )
        values = value(option, around) if value is not None else None
        if values is not None and _fits(option, values):
            found.append(Proposal(option, tuple(option.written(*values)), values[0] if values else True))
    return found


def makes_up_data(proposal: Proposal) -> bool:
    """Whether a setting has the program make its data up, so that it reads and fetches none."""
    return _FAKE.search(proposal.option.name if proposal.value is True else str(proposal.value)) is not None


def _fits(option: Option, values: list[str]) -> bool:
    """Whether the parser takes these values: their number, their type, its choices."""
    if option.takes in (Takes.NOTHING, Takes.SWITCHES_OFF):
        return not values
    if not values or (option.takes is Takes.VALUE and len(values) != option.values):
        return False
    if option.choices and not set(values) <= set(option.choices):
        return False
    return option.kind != "int" or all(re.fullmatch(r"-?\d+", each) for each in values)


# --- values


def _at_most(number: int) -> Value:
    """A whole number, unless the default is as small already; the smallest choice where there are choices."""

    def give(option: Option, _: Around) -> list[str] | None:
        if option.kind not in ("int", "float", "") or isinstance(option.default, bool):
            return None
        if option.takes not in (Takes.VALUE, Takes.MANY):
            return None
        default = option.default[0] if isinstance(option.default, list | tuple) and option.default else option.default
        if not isinstance(default, int | float | None) and default is not NOT_KNOWN:
            return None
        if option.kind == "" and not isinstance(default, int | float):
            return None
        if isinstance(default, int | float) and 0 <= default <= number:
            return None
        if option.choices:
            return [min(option.choices, key=int)] if all(each.isdigit() for each in option.choices) else None
        return [str(number)] * (option.values if option.takes is Takes.VALUE else 1)

    return give


def _lowered(number: int) -> Value:
    """The same, only where the default is a larger number: without a default, the model or its data has its own."""
    give = _at_most(number)
    return lambda option, around: give(option, around) if isinstance(option.default, int | float) else None


def _where(condition: Callable[[Around], bool], give: Value) -> Value:
    return lambda option, around: give(option, around) if condition(around) else None


def _image_size(option: Option, around: Around) -> list[str] | None:
    """A side of 64 pixels; of timm's `--input-size C H W`, all three."""
    if isinstance(option.default, int) and option.default <= 128:
        return None
    if option.values == 3:
        return ["3", "64", "64"]
    return _at_most(64)(option, around)


def _on(option: Option, _: Around) -> list[str] | None:
    """Switch it on, unless it is on; in the words of its type where it takes a value."""
    if option.takes is Takes.NOTHING:
        return [] if option.default in (None, False) else None
    if option.takes is not Takes.VALUE or option.default is True:
        return None
    if option.choices:
        return _half(option, _)
    return [_YES[option.kind]] if option.kind in _YES else None


def _first_rank(option: Option, _: Around) -> list[str] | None:
    """The rank of the only process, where one must be named."""
    return ["0"] if option.required and option.kind == "int" else None


def _off(option: Option, _: Around) -> list[str] | None:
    """Switch it off, where its value can say so: a compiler takes longer than a few steps."""
    return ["False"] if option.default is True and option.takes is Takes.VALUE and option.kind == "bool" else None


def _half(option: Option, _: Around) -> list[str] | None:
    """The half precision that its choices offer, the one with a loss scale first."""
    if option.takes is not Takes.VALUE or option.default in _HALF[:6]:
        return None
    return next(([each] for each in _HALF if each in option.choices), None)


def _fake(option: Option, _: Around) -> list[str] | None:
    """Data that is made up, where its choices offer some."""
    return next(([each] for each in option.choices if _FAKE.search(each)), None)


def _smallest(option: Option, _: Around) -> list[str] | None:
    """A model whose name says that it is small, where its choices offer one."""
    if isinstance(option.default, str) and _SMALL_WORDS.search(option.default):
        return None
    return next(([each] for each in option.choices if _SMALL_WORDS.search(each)), None)


def _device(option: Option, around: Around) -> list[str] | None:
    """CUDA, which is emulated where it is missing, if it is another device by default."""
    default = option.default
    if not around.needs_cuda or (isinstance(default, str) and (default == "" or default.startswith("cuda"))):
        return None
    wanted = next((each for each in option.choices if each.startswith("cuda")), "cuda")
    return [wanted] if default in ("cpu", "mps") or (option.required and option.kind in ("", "str")) else None


def _temporary(option: Option, _: Around) -> list[str] | None:
    """A folder of the run; the file's own name in it where the default names a file."""
    if option.kind not in ("", "str", "Path") or option.choices or isinstance(option.default, bool):
        return None
    text = option.default if isinstance(option.default, str) else ""
    if (default := PurePosixPath(text)).suffix:
        return [f"{{temporary}}/{default.name}"]
    is_path = option.default is NOT_KNOWN or "/" in text or text == "."
    by_name = _DIRECTORY.search(option.name.lower()) is not None
    return ["{temporary}"] if is_path or by_name else None


def _temporary_by_default(option: Option, around: Around) -> list[str] | None:
    """The same where a folder is written by default, or one is required: without a default, it is one to load from."""
    return _temporary(option, around) if option.required or option.default not in (None, "") else None


def _names(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_Rows = tuple[tuple[re.Pattern[str], Value], ...]

_LENGTHS: _Rows = (
    (_names(r"(?:n|num|max|total|train|n_train|num_train|nb)?_?epochs?|nepochs?|n_?iter"), _at_most(1)),
    (_names(r"warmup_epochs?|warm_up_epochs?|cooldown_epochs?|linear_epoch"), _lowered(0)),
    (
        _names(
            r"(?:max|num|n|total|train|num_train|max_train|training)_(?:steps|iters?|iterations|updates)"
            r"|iters?|iterations|steps|limit_train_batches|max_batches"
        ),
        _at_most(20),
    ),
    (_names(r"(?:eval|val|test)_(?:iters|batches)"), _lowered(2)),
    (_names(r"(?:grad(?:ient)?s?_)?accum(?:ulat(?:e|ion))?(?:_?grad)?(?:_?(?:steps|iters?|batches|freq))?"
            r"|update_freq|iter_size"), _lowered(2)),
    (
        _names(
            r"(?:(?:train|test|eval|val|valid|micro|mini|global|per_gpu|per_device)_)*(?:train_|eval_)?"
            r"batch_?size(?:_per_(?:gpu|device))?|batchsize|bsz?|batch|device_batch_size|ims_per_(?:batch|gpu|device)"
        ),
        _at_most(4),
    ),
    (_names(r"(?:(?:n|num|data|dataloader|data_loader|loader|max)_?)*(?:workers|num_workers|nw)|nw|n_cpu|n_threads"),
     _at_most(0)),
)  # fmt: skip
"""How options may be called that say how long a run is -> their values."""
_SIZES: _Rows = (
    (_names(r"imgsz|img_?size|image_?size|input_?size|crop_?size|(?:train_|val_)?(?:crop|resize)_size|resolution"),
     _image_size),
    (
        _names(
            r"block_size|seq_?len(?:gth)?|sequence_length|max_(?:seq_)?len(?:gth)?|max_seq_length|bptt|context_length"
            r"|context_size|n_ctx|segment_size"
        ),
        _at_most(32),
    ),
    (
        _names(r"(?:n_|num_)?hidden(?:_size|_dim|_units)?|d_model|n_?embd|emsize|emb(?:ed)?(?:ding)?_(?:dim|size)"
               r"|model_dim|dim|n_?hid|ngf|ndf|d_ff|ffn_dim|width"),
        _where(lambda around: not around.has_heads or bool(around.names & _HEADS), _lowered(32)),
    ),
    (_names(r"n_?heads?|num_(?:attention_)?heads|n_head|heads"), _lowered(2)),
    (_names(r"(?:n|num|num_hidden|num_encoder|num_decoder)_?layers?|n_?blocks|num_blocks"), _lowered(2)),
    (_names(r"depth"), _where(lambda around: around.has_heads, _lowered(2))),
)  # fmt: skip
"""The same of options that say how large the model and its inputs are: a program may forbid some of them together."""
_OTHERS: _Rows = (
    (_names(r"local_rank|rank"), _first_rank),
    (_names(r"dataset|data|dataset_name|data_?set"), _fake),
    (_names(r"dummy|(?:use_)?(?:dummy|fake|synthetic)_?(?:data|dataset|batch)?|synthetic"), _on),
    (_names(r"arch|model|backbone|model_name|model_size|size|variant|config_name"), _smallest),
    (_names(r"(?:use_|native_|enable_|with_|torch_)*amp(?:_enabled?)?|(?:use_|enable_)*(?:fp16|half|mixed_precision|autocast)"
            r"|mixed|half_precision"), _on),
    (_names(r"(?:mixed_)?precision|amp_dtype|autocast_dtype|train_dtype|amp_type"), _half),
    (_names(r"(?:use_|torch_)*compile"), _off),
    (_names(r"device|accelerator"), _device),
    (_names(r"cuda|(?:use|enable|with)_(?:cuda|gpu)"), _where(lambda around: around.needs_cuda, _on)),
    (_names(r"(?:(?:out|output|save|log|logging|work|result|results|tb_log|tensorboard|model|ckpt|checkpoints?)_?)*"
            r"(?:out|output|save|log|logging|work|result|results|tb_log|tensorboard)_?(?:dir|directory|path|folder|root)"
            r"|out|outf|output|outdir|save|save_to|project|logdir|savedir|rundir"), _temporary),
    (_names(r"(?:model|ckpt|checkpoints?|run|exp|experiment|snapshot)_?(?:dir|directory|folder|root)"),
     _temporary_by_default),
)  # fmt: skip
"""The same of all other options. The first row that fits counts."""
