"""What names suggest: the last resort of the analysis, where no value of an expression is known.

A false alarm that comes from a name is mended here, and nowhere else. Each predicate takes one identifier; one whose
name begins with `speaks_of` takes any source text. Where two predicates stand for one word, the docstrings say what
divides them.
"""

from __future__ import annotations

import re
from functools import lru_cache

_PURPOSE = r"(?:train|val|valid|validation|test|eval|dev)"
# Of names in small letters: a pattern that is to ignore case takes twice as long to compile.
_LOADER = rf"(?:loader|batches)s?(?:_{_PURPOSE})?$|(?:^|_)dl(?:_{_PURPOSE})?$|^{_PURPOSE}_?(?:iter|queue)$"
_MODEL = (
    r"(?:^|_)(?:model|net|generator|discriminator|encoder|decoder|backbone|classifier|teacher|student|unet|vae)\w*$"
)
_HANDLES = frozenset(
    """add append build compile configure convert copy count create del delete export fetch freeze get init load log
    make on parse prepare print register remove restore save send set setup unwrap update upload wrap watch""".split()  # noqa: SIM905
)
"""How the name of a function begins that does something about a model, and does not run it."""
_named = lru_cache(maxsize=8192)


# -- losses ----------------------------------------------------------------------------------------------------------


def names_a_loss(name: str) -> bool:
    """`total_loss`, `lossG`; also source text in which such a name stands."""
    return "loss" in name.lower()


@_named
def names_a_loss_or_criterion(name: str) -> bool:
    """The same, `criterion` and `cross_entropy`; a `critic` is a model."""
    return re.search(r"loss|crit(?!ic)|cross_?entropy", name.lower()) is not None


@_named
def names_a_loss_function(name: str) -> bool:
    """A loss function and nothing about one: `loss_fn`, `criterion`, `DiceLoss`; not `log_loss_values`."""
    strict = r"(^|_)(loss|losses|criterion|criterions|crit)(_fn|_func|_function|_\d+)?$|^criterion_|Loss$"
    return re.search(strict, name) is not None


@_named
def names_a_loss_module(name: str) -> bool:
    """A class of losses: `BCELoss`; not `CrossAttention`."""
    return re.search(r"(?<![Cc]r)oss", name) is not None


@_named
def reports_a_loss(name: str) -> bool:
    """A function that does something with a loss and works none out: `log_loss`, `LossMeter`, `scale_loss`."""
    return re.search(r"(?i)scale|log_loss|meter|print|track", name) is not None


# -- steps -----------------------------------------------------------------------------------------------------------


@_named
def speaks_of_a_skip(text: str) -> bool:
    """A number or a flag that decides whether a step is left out: `grad_norm`, `skipped`."""
    return re.search(r"norm|skip", text.lower()) is not None


# -- models ----------------------------------------------------------------------------------------------------------


@_named
def names_a_model(name: str) -> bool:
    """Something that a call runs forward: `model`, `net_g`, `teacher_encoder`; not `load_model`, not `model_loss`."""
    verb, underscore, _ = name.partition("_")
    handles = bool(underscore) and verb.lower() in _HANDLES
    return re.search(_MODEL, name.lower()) is not None and not names_a_loss_module(name) and not handles


@_named
def names_a_whole_model(name: str) -> bool:
    """A name that ends in a word for a model: `netG_model`, `backbone`; not `model_outputs`."""
    words = r"(?:^|_)(?:model|net|network|encoder|decoder|backbone|generator|critic)$"
    return re.search(words, name.lower()) is not None


@_named
def names_a_model_or_tensor(name: str) -> bool:
    """Something with a `device` of its own: a model, a batch or a tensor."""
    words = r"(?i)(^|_)(model|module|net|network|inputs?|outputs?|images?|tensor|logits|x)\d*$"
    return re.search(words, name) is not None


@_named
def speaks_of_a_model(name: str) -> bool:
    """A word for a model stands anywhere in it: `encode_with_head` does not name one and speaks of one."""
    return re.search(r"model|net|module|encoder|decoder|head|generator|critic|forward", name) is not None


@_named
def names_a_model_to_train(name: str) -> bool:
    """A word of its own for what is trained: `student`, `my_net`; also in the middle of a name."""
    return re.search(r"(?i)(?:^|_)(model|net|network|student|encoder|module)(?:$|_)", name) is not None


# -- optimizers, schedules, scalers ------------------------------------------------------------------------------------


@_named
def names_an_optimizer(name: str) -> bool:
    """`optimizer`, `opt_g`, `optims`; not `lr_scheduler_optim`, not `option`."""
    return re.search(r"(?:^|_)opts?(?:_|\d|$)|optim", name.lower()) is not None and not names_a_scheduler(name)


def speaks_of_an_optimizer(text: str) -> bool:
    return "optim" in text.lower()


@_named
def names_a_scheduler(name: str) -> bool:
    """`scheduler`, `lr_sched`, `warmup`."""
    return re.search(r"sched|warmup|lr_", name.lower()) is not None


@_named
def names_a_schedule(name: str) -> bool:
    """The same by the one word alone: what a `step` is called on; `lr_finder.step()` is none."""
    return "sched" in name.lower()


@_named
def names_a_scheduler_class(name: str) -> bool:
    """`CosineLR`, `NoamScheduler`, `WarmupPoly`."""
    return re.search(r"[Ss]ched|LR|[Ww]armup", name) is not None


@_named
def names_a_scaler(name: str) -> bool:
    """`scaler`, `amp_scalar`; what is not followed to a constructor is taken for one only by such a name."""
    return re.search(r"scaler|(?:amp|grad|loss)_?scalar", name.lower()) is not None


def speaks_of_a_scaler(text: str) -> bool:
    return "scaler" in text.lower()


def speaks_of_a_scale(text: str) -> bool:
    """A number by which a loss may be multiplied against underflow: `loss_scale`, `scaling`."""
    return "scal" in text.lower()


def speaks_of_a_step(text: str) -> bool:
    """A call of `step` by its receiver or argument: of a scaler or an optimizer."""
    return re.search(r"(?i)scaler|opti|\bopt\b", text) is not None


# -- data, counters, phases --------------------------------------------------------------------------------------------


@_named
def names_a_loader(name: str) -> bool:
    """`train_loader`, `dl_val`, `batches`; not `loaded`."""
    return re.search(_LOADER, name.lower()) is not None


@_named
def names_a_counter(name: str) -> bool:
    """What counts iterations: `step`, `batch_idx`, `i`; not `stepper`."""
    counters = r"(?:^|_)(?:step|iters?|iteration|it|idx|count|counter|epoch|i)(?:_|$)"
    return re.search(counters, name) is not None


def speaks_of_a_window(text: str) -> bool:
    """A predicate on a window of micro-batches: `i % accum == 0`, `is_last`, `sync_gradients`."""
    return re.search(r"(?i)%|accum|boundary|last|sync|update|step", text) is not None


@_named
def names_an_evaluation(name: str) -> bool:
    """A function that evaluates, predicts or samples: `validate`, `test_epoch`, `generate`."""
    return re.search(r"(?i)eval|valid|test|infer|predict|sampl|generat|demo", name) is not None
