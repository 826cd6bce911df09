"""Recognise whose configuration a table is, by the keys that stand together in it, and read what it sets."""

from __future__ import annotations

from collections.abc import Iterator

from verifygate.configured_precision.document import Item
from verifygate.configured_precision.framework_table import frameworks
from verifygate.configured_precision.setting import (
    ACCELERATE,
    DEEPSPEED,
    HUGGING_FACE,
    LIGHTNING,
    OWN,
    TORCHTITAN,
    Setting,
)

_OF_DEEPSPEED = frozenset(
    {"zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size", "zero_allow_untested_optimizer"}
)
_OF_ACCELERATE = frozenset(
    {
        "compute_environment",
        "distributed_type",
        "num_processes",
        "num_machines",
        "machine_rank",
        "main_training_function",
    }
)
_OF_HUGGING_FACE = frozenset(
    {
        "per_device_train_batch_size",
        "gradient_accumulation_steps",
        "output_dir",
        "num_train_epochs",
        "lr_scheduler_type",
    }
    | {
        "base_model",
        "micro_batch_size",
        "model_name_or_path",
        "finetuning_type",
        "optim",
        "warmup_ratio",
        "logging_steps",
    }
)
_SWITCHES = ("fp16", "bf16")
_HF_KEYS = {
    "fp16": "precision",
    "bf16": "precision",
    "pure_bf16": "weights",
    "float16": "weights",
    "bfloat16": "weights",
    "torch_dtype": "weights",
    "model_dtype": "weights",
    "fp16_full_eval": "evaluation",
    "bf16_full_eval": "evaluation",
    "max_grad_norm": "clip",
}
_OWN_KEYS = frozenset(
    {"amp", "use_amp", "fp16", "bf16", "mixed_precision", "precision", "amp_dtype", "mixed_precision_dtype", "use_fp16"}
    | {"use_bf16", "autocast"}
)
"""Keys of the project itself that can be about nothing but the precision of its training."""
_OWN_VALUES = frozenset({"16", "32", "64", "no", "o1", "o2", "amp", "32-true", "float32", "fp32"})
_OWN_DTYPES = frozenset({"dtype", "torch_dtype", "param_dtype", "reduce_dtype", "model_dtype", "compute_dtype"})
_TITAN = {
    "mixed_precision_param": "compute",
    "mixed_precision_reduce": "reduction",
    "dtype": "weights",
    "enable_fp8": "fp8",
}


def settings_in(root: Item, path: str) -> Iterator[Setting]:
    """What a document sets for the precision, in the order of its tables."""
    if _is_of_a_model(root):
        return
    owner = next((each for each in frameworks() if each.owns(root)), None)
    for setting in _settings_of(root, path, is_trainers=owner is not None and "transformers" in owner.shares):
        if owner is None or not owner.has_no_effect(setting.key, root):
            yield setting


def _settings_of(root: Item, path: str, *, is_trainers: bool) -> Iterator[Setting]:
    """`is_trainers`: whether the document is beyond doubt that of a framework on the Trainer of transformers."""
    engines: set[int] = set()
    for keys, table in root.tables():
        if id(table) in engines:
            continue
        framework = _framework(keys, table, path)
        if not framework and is_trainers and not keys and table.table.keys() & _HF_KEYS.keys():
            framework = HUGGING_FACE
        if framework:
            if framework is DEEPSPEED:
                engines |= {id(inner) for _, inner in table.tables()}
            yield from _READERS[framework](keys, table, path)
        else:
            yield from _own(keys, table, path)


def deepspeed_settings(table: Item, path: str) -> list[Setting]:
    """What a table sets that is known to be DeepSpeed's, as a dict in the code is."""
    return list(_deepspeed((), table, path))


def _is_of_a_model(root: Item) -> bool:
    """Whether it describes a checkpoint: `config.json` beside weights says what these are, and nothing of training."""
    return not {"architectures", "model_type"}.isdisjoint(root.table) and "base_model" not in root.table


def _framework(keys: tuple[str, ...], table: Item, path: str) -> str:
    names = table.table.keys()
    if any(_enabled(table, each) for each in (*_SWITCHES, "bfloat16")) or (
        names & _OF_DEEPSPEED and names & {"fp16", "bf16", "gradient_clipping", "amp", "data_types"}
    ):
        return DEEPSPEED
    if "mixed_precision" in names and names & _OF_ACCELERATE:
        return ACCELERATE
    if keys[-1:] == ("fsdp_config",) or keys[-1:] == ("deepspeed_config",):
        return ACCELERATE
    if (names & {"precision", "gradient_clip_val"} and _is_trainer(keys, table, path)) or _is_lightnings(table):
        return LIGHTNING
    if names & _HF_KEYS.keys() and len(names & _OF_HUGGING_FACE) > 1:
        return HUGGING_FACE
    if path.endswith(".toml") and keys[-1:] == ("training",) and names & {"mixed_precision_param", "dtype"}:
        return TORCHTITAN
    if path.endswith(".toml") and ("float8" in keys or names & {"converters"}):
        return TORCHTITAN
    return ""


def _is_trainer(keys: tuple[str, ...], table: Item, path: str) -> bool:
    target = table.get("_target_") or table.get("class_path")
    if target is not None:
        return target.text.endswith((".Trainer", ".Fabric", "Fabric", "Trainer"))
    name = keys[-1] if keys else path.rpartition("/")[0].rpartition("/")[2]
    return name in ("trainer", "fabric")


def _is_lightnings(table: Item) -> bool:
    """Whether Hydra is to make a Trainer or Fabric of a table."""
    target = table.get("_target_")
    text = target.text if target is not None else ""
    return text.startswith(("lightning.", "pytorch_lightning.")) and text.endswith((".Trainer", ".Fabric"))


def _enabled(table: Item, switch: str) -> bool:
    section = table.get(switch)
    return section is not None and section.get("enabled") is not None


def _setting(framework: str, aspect: str, keys: tuple[str, ...], item: Item, path: str) -> Setting:
    return Setting(
        framework=framework, aspect=aspect, key=".".join(keys), value=item.text[:80], path=path, line=item.line
    )


def _deepspeed(keys: tuple[str, ...], table: Item, path: str) -> Iterator[Setting]:
    for switch in (*_SWITCHES, "bfloat16", "amp"):
        section = table.get(switch)
        if section is None:
            continue
        if (enabled := section.get("enabled")) is not None:
            yield _setting(DEEPSPEED, "precision", (*keys, switch, "enabled"), enabled, path)
            if enabled.value is False:
                continue  # the rest of the section has no effect
        for key in ("loss_scale", "initial_scale_power"):
            if switch == "fp16" and (item := section.get(key)) is not None:
                yield _setting(DEEPSPEED, "loss scale", (*keys, switch, key), item, path)
    for key, aspect in (("gradient_clipping", "clip"), ("communication_data_type", "reduction")):
        if (item := table.get(key)) is not None and item.is_scalar:
            yield _setting(DEEPSPEED, aspect, (*keys, key), item, path)
    if (types := table.get("data_types")) and (item := types.get("grad_accum_dtype")):
        yield _setting(DEEPSPEED, "accumulation", (*keys, "data_types", "grad_accum_dtype"), item, path)


def _accelerate(keys: tuple[str, ...], table: Item, path: str) -> Iterator[Setting]:
    named = {"mixed_precision": "precision", "gradient_clipping": "clip", "deepspeed_config_file": "file"}
    for key, item in table.table.items():
        if (aspect := named.get(key)) and item.is_scalar:
            yield _setting(ACCELERATE, aspect, (*keys, key), item, path)


def _lightning(keys: tuple[str, ...], table: Item, path: str) -> Iterator[Setting]:
    target = table.get("_target_")
    if target is not None and _is_lightnings(table) and table.get("precision") is None:
        yield _setting(LIGHTNING, "driver", (*keys, "_target_"), target, path)
    for key, aspect in (("precision", "precision"), ("gradient_clip_val", "clip")):
        if (item := table.get(key)) is not None and item.is_scalar:
            yield _setting(LIGHTNING, aspect, (*keys, key), item, path)


def _hugging_face(keys: tuple[str, ...], table: Item, path: str) -> Iterator[Setting]:
    for key, aspect in _HF_KEYS.items():
        if (item := table.get(key)) is not None and item.is_scalar:
            yield _setting(HUGGING_FACE, aspect, (*keys, key), item, path)
    if (item := table.get("deepspeed")) is not None and item.is_scalar and item.value:
        yield _setting(HUGGING_FACE, "file", (*keys, "deepspeed"), item, path)


def _titan(keys: tuple[str, ...], table: Item, path: str) -> Iterator[Setting]:
    for key, item in table.table.items():
        if keys[-1:] == ("training",) and key in _TITAN and item.is_scalar:
            yield _setting(TORCHTITAN, _TITAN[key], (*keys, key), item, path)
        elif key == "converters" and isinstance(item.value, list):
            words = ", ".join(each.text for each in item.value)
            if "float8" in words or "mx" in words:
                yield _setting(TORCHTITAN, "fp8", (*keys, key), Item(item.line, words, words), path)


def _own(keys: tuple[str, ...], table: Item, path: str) -> Iterator[Setting]:
    for key, item in table.table.items():
        if not item.is_scalar or item.value is None:
            continue
        if (key in _OWN_KEYS and _may_be_precision(item)) or (
            key in _OWN_DTYPES and any(word in item.text for word in ("float16", "fp16", "bf16", "half"))
        ):
            yield _setting(OWN, "own switch", (*keys, key), item, path)


def _may_be_precision(item: Item) -> bool:
    """Whether a value can be a precision: `precision: 0.01` is a tolerance, and `precision: 4` a number of digits."""
    if isinstance(item.value, bool):
        return True
    text = item.text.lower().strip()
    return text in _OWN_VALUES or any(word in text for word in ("${", "bf16", "fp16", "float16", "16-", "half", "fp8"))


_READERS = {
    DEEPSPEED: _deepspeed,
    ACCELERATE: _accelerate,
    LIGHTNING: _lightning,
    HUGGING_FACE: _hugging_face,
    TORCHTITAN: _titan,
}
