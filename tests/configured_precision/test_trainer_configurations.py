"""The contracts of torchtitan, Lightning, NeMo and LLaMA-Factory v1: what each key decides, and what is no driver."""

from __future__ import annotations

import pytest

from verifygate.configured_precision.drivers import Driver, Drivers
from verifygate.sources.configuration_file import ConfigurationFile

TITAN = """
[job]
dump_folder = "out"
[model]
name = "llama3"
flavor = "8B"
[training]
steps = 10
"""


def drivers(files: dict[str, str]) -> list[Driver]:
    return Drivers(ConfigurationFile(path, data=text.encode()) for path, text in files.items()).all()


def cells(files: dict[str, str]) -> dict[str, str]:
    """Each row of the one driver: its value with path and line, or `?` and why there is none."""
    (driver,) = drivers(files)
    found = {}
    for row in driver.contract.rows[1:]:
        said = [f"{each.value} @{each.path}:{each.line}" for each in row.declared]
        found[row.aspect.value] = said[0] if said else f"? {row.not_followed[0].reason}"
    return found


def values(files: dict[str, str]) -> dict[str, str]:
    return {row: value.partition(" @")[0] for row, value in cells(files).items()}


def test_torchtitan_shards_float32_weights_and_computes_in_bfloat16() -> None:
    found = cells({"a.toml": TITAN + 'mixed_precision_param = "bfloat16"\n'})
    assert found["compute"] == "bfloat16 @a.toml:9"
    assert found["weights"] == found["gradients"] == found["optimizer state"] == "float32 @a.toml:1"
    assert found["reduction"] == "float32 @a.toml:1"
    assert found["master copy"] == "none: the trained weights are float32 @a.toml:1"
    assert found["export"] == "none: `checkpoint.enable` is off @a.toml:1"


@pytest.mark.parametrize(
    ("keys", "row", "value"),
    [
        ('dtype = "bfloat16"', "optimizer state", "bfloat16"),
        ('dtype = "bfloat16"', "master copy", "none"),
        ('dtype = "bfloat16"', "reduction", "float32"),
        ('dtype = "float16"', "weights", "? `training.dtype` takes float32 and bfloat16"),
        ('mixed_precision_reduce = "bfloat16"', "reduction", "? `training.mixed_precision_reduce` takes float32 only"),
        ("[parallelism]\ndata_parallel_shard_degree = 1", "reduction", "none: there is one process"),
        ("[parallelism]\ndata_parallel_shard_degree = 1\ntensor_parallel_degree = 8", "compute", "float32"),
        (
            "[parallelism]\ntensor_parallel_degree = 8",
            "compute",
            "bfloat16 where processes are left to shard over, else float32",
        ),
        (
            'dtype = "bfloat16"\n[parallelism]\ndata_parallel_replicate_degree = 8\ndata_parallel_shard_degree = 1',
            "reduction",
            "bfloat16",
        ),
        (
            'dtype = "bfloat16"\n[parallelism]\npipeline_parallel_degree = 2\ncontext_parallel_degree = 2',
            "accumulation",
            "float32",
        ),
        ("[checkpoint]\nenable = true", "export", "float32"),
        ('[checkpoint]\nenable = true\nexport_dtype = "float16"', "export", "float16"),
        ('[checkpoint]\nenable = true\nexport_dtype = "float16"\nlast_save_model_only = false', "export", "float32"),
        ("tensor_parallel_degree = 8", "compute", "? `training.tensor_parallel_degree` is a key of an older version"),
        ("[checkpoint]\nenable_checkpoint = true", "export", "? `checkpoint.enable_checkpoint` is a key of an older"),
        ('[optimizer]\nname = "Muon"', "optimizer state", "? this optimizer is none of torchtitan's own"),
    ],
)
def test_what_torchtitan_makes_of_a_key(keys: str, row: str, value: str) -> None:
    found = values({"a.toml": f"{TITAN}{keys}\n"})[row]
    assert found.startswith(value) if value.startswith("?") else found == value


@pytest.mark.parametrize(
    ("converters", "compute"),
    [
        ('["quantize.linear.float8"]', "float8 in the linear layers; the rest bfloat16"),
        (
            '["quantize.grouped_mm.mx", "quantize.linear.mx"]',
            "mxfp8 in the linear layers and the experts; the rest bfloat16",
        ),
        ('["float8"]', "? this is the name of a converter of version 0.1"),
        ('["mine"]', "? these converters are not followed"),
    ],
)
def test_float8_is_a_converter_of_the_model(converters: str, compute: str) -> None:
    text = TITAN.replace('flavor = "8B"', f'flavor = "8B"\nconverters = {converters}')
    assert values({"a.toml": text})["compute"].startswith(compute)


@pytest.mark.parametrize(
    ("line", "file"),
    [
        (
            "torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file a.toml --training.dtype=bfloat16",
            "run.sh",
        ),
        ("CONFIG_FILE=a.toml ./run_train.sh --training.dtype bfloat16", "run.sh"),
        ("\tpython -m torchtitan.train --job.config-file=a.toml --training.dtype=bfloat16", "Makefile"),
    ],
)
def test_a_launch_line_of_torchtitan_decides_over_the_file(line: str, file: str) -> None:
    found = cells({"a.toml": "[training]\nsteps = 1\n", file: line})
    assert found["weights"] == f"bfloat16 @{file}:1"


def test_toml_that_holds_such_words_is_no_job() -> None:
    project = '[project]\nname = "x"\n[tool.x]\nmodel = "flavor"\ntraining = "steps dump_folder"\n'
    data = '[model]\nflavor = "vanilla"\n[training]\nsteps = 3\n'
    assert drivers({"pyproject.toml": project, "ice.toml": data}) == []


@pytest.mark.parametrize(("text", "line"), [("dtype = bfloat16\nsteps = 2\n", 9), ("dtype = [", 9)])
def test_a_broken_toml_is_said_with_its_line(text: str, line: int) -> None:
    read = Drivers([ConfigurationFile("a.toml", data=f"{TITAN}{text}".encode())])
    assert read.all() == []
    assert (read.broken["a.toml"].line, str(read.broken["a.toml"])) == (line, "Invalid value")


# -- Lightning --------------------------------------------------------------------------------------------------

CLI = "seed_everything: 1\nmodel:\n  class_path: mine.Model\ntrainer:\n  max_epochs: 1\n"
CASTS_NOTHING = "float32 where the module casts nothing"


@pytest.mark.parametrize(
    ("keys", "row", "value"),
    [
        ("", "compute", CASTS_NOTHING),
        ("  precision: bf16-mixed\n", "compute", "bfloat16"),
        ("  precision: bf16-mixed\n", "weights", CASTS_NOTHING),
        ("  precision: 16\n", "loss scale", "the Trainer's GradScaler; none where there is only a CPU"),
        ("  precision: 16\n  accelerator: cpu\n", "compute", "bfloat16"),
        ("  precision: 16\n  accelerator: cpu\n", "loss scale", "none"),
        ("  precision: 16-mixed\n  strategy: fsdp\n", "reduction", "float16"),
        ("  precision: 16-mixed\n  strategy: fsdp\n", "loss scale", "the Trainer's ShardedGradScaler"),
        ("  precision: bf16-true\n  strategy: ddp\n", "reduction", "bfloat16"),
        ("  devices: 1\n", "reduction", "none: there is one process"),
        ("  precision: 16-mixed\n  strategy: deepspeed_stage_2\n", "master copy", "float32, kept by DeepSpeed"),
        ("  precision: 16-mixed\n  strategy: deepspeed_stage_2\n", "weights", "float16"),
        (
            "  precision: bf16\n  strategy:\n    class_path: DeepSpeedStrategy\n    init_args: {stage: 3}\n",
            "optimizer state",
            "float32",
        ),
        (
            "  strategy:\n    class_path: FSDPStrategy\n    init_args: {mixed_precision: {}}\n  precision: bf16\n",
            "reduction",
            "bfloat16",
        ),
        (
            "  plugins:\n  - class_path: lightning.pytorch.plugins.MixedPrecision\n",
            "compute",
            "? a precision plugin of `trainer.plugins` decides: not followed",
        ),
        ("  precision: fp16\n", "compute", "? Lightning knows no such precision"),
        ("  precision: ${PRECISION}\n", "compute", "? `trainer.precision: ${PRECISION}` is decided when the program"),
    ],
)
def test_what_a_lightning_cli_makes_of_its_trainer(keys: str, row: str, value: str) -> None:
    assert values({"a.yaml": CLI + keys})[row].startswith(value)


def test_deepspeed_in_a_file_of_its_own_may_contradict_the_trainer() -> None:
    keys = "  precision: bf16-mixed\n  strategy:\n    class_path: DeepSpeedStrategy\n    init_args: {config: ds.json}\n"
    section = '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}}'
    agreed = cells({"a.yaml": CLI + keys, "ds.json": section})
    assert agreed["compute"].startswith("bfloat16 @")
    assert agreed["master copy"] == "float32, kept by DeepSpeed @ds.json:1"
    other = values({"a.yaml": CLI + keys, "ds.json": section.replace("bf16", "fp16")})
    assert other["compute"].startswith("? DeepSpeed's `fp16` is on")


def test_further_files_of_a_launch_line_override_the_first() -> None:
    files = {"a.yaml": CLI + "  precision: bf16-mixed\n", "b.yaml": "trainer:\n  precision: 32\n", "run.sh": ""}
    line = "python main.py fit --config a.yaml --config b.yaml"
    assert cells({**files, "run.sh": line})["compute"] == f"{CASTS_NOTHING} @b.yaml:2"
    assert cells({**files, "run.sh": f"{line} --trainer.precision=bf16-true"})["weights"] == "bfloat16 @run.sh:1"
    gone = cells({**files, "run.sh": "python main.py fit --config a.yaml --config c.yaml"})
    assert gone["compute"] == "? `c.yaml` names a file that is not here"


@pytest.mark.parametrize("words", [".py fit ", ".py fit -c "])
def test_a_long_line_of_such_words_takes_no_time(words: str) -> None:
    assert drivers({"run.sh": words * (8_000 // len(words)) + "\n" + words * 20_000}) == []


def test_fit_is_also_a_word_of_other_programs() -> None:
    assert drivers({"a.yaml": "forest:\n  trees: 3\n", "run.sh": "python main.py fit --config a.yaml"}) == []


HYDRA = {
    "conf/train.yaml": "defaults:\n  - _self_\n  - trainer: gpu\n  - model: mine\nseed: 1\n",
    "conf/trainer/gpu.yaml": "defaults:\n  - base\nprecision: bf16-mixed\n",
    "conf/trainer/base.yaml": "_target_: lightning.pytorch.Trainer\nprecision: 32\nmax_epochs: 1\n",
    "conf/model/mine.yaml": "_target_: mine.Model\n",
}


def test_hydra_is_composed_before_it_is_read() -> None:
    (driver,) = drivers(HYDRA)
    assert driver.path == "conf/train.yaml"
    assert driver.files == HYDRA.keys()
    found = cells(HYDRA)
    assert found["compute"] == "bfloat16 @conf/trainer/gpu.yaml:3"
    later = HYDRA["conf/train.yaml"].replace("  - _self_\n", "") + "trainer:\n  precision: 16-true\n"
    assert cells(HYDRA | {"conf/train.yaml": later})["weights"] == "float16 @conf/train.yaml:6"


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("  - trainer@model.inner: other\n", "bfloat16"),
        ("  - optional trainer: other\n", "bfloat16"),
        ("  - trainer: other\n", "? `trainer: other` names a file that is not here"),
        ("  - override hydra/job_logging: colour\n", "bfloat16"),
        ("  - override /trainer: cpu\n", "? `override /trainer: cpu` replaces another entry, which is not followed"),
        ("  - trainer: ${oc.env:T}\n", "? `trainer: ${oc.env:T}` is chosen when the program starts"),
    ],
)
def test_what_a_composition_leaves_open_is_no_default(entry: str, why: str) -> None:
    main = HYDRA["conf/train.yaml"].replace("seed", f"{entry}seed", 1)
    assert values(HYDRA | {"conf/train.yaml": main})["compute"] == why


def test_a_package_without_end_is_not_followed() -> None:
    deep = f"# @package {'a.' * 5_000}a\nx: 1\n"
    files = {"t.yaml": "defaults: [b, c]\ntrainer: {_target_: lightning.Trainer}\nmodel: {}\n", "b.yaml": deep}
    assert values({**files, "c.yaml": deep})["compute"] == "? `b` names a file that is not here"


def test_defaults_of_other_files_are_no_composition() -> None:
    files = {
        "deploy/values.yaml": "defaults:\n  - {{ .Values.x }}\n",
        "deploy/roles.yaml": "defaults:\n  - base\n---\ndefaults:\n  - base\n",
        ".github/workflows/a.yml": "defaults:\n  run: {shell: bash}\njobs: {trainer: {precision: 16}}\n",
    }
    read = Drivers(ConfigurationFile(path, data=text.encode()) for path, text in files.items())
    assert (read.all(), read.broken) == ([], {})
    broken = HYDRA | {"conf/model/mine.yaml": "a: ["}
    read = Drivers(ConfigurationFile(path, data=text.encode()) for path, text in broken.items())
    assert read.all() == []


def test_two_launches_of_one_file_with_other_files_beside_it_are_two() -> None:
    line = "python main.py fit --config a.yaml --config {}.yaml\n"
    files = {"a.yaml": CLI, "b.yaml": "trainer: {precision: 16-true}\n", "c.yaml": "trainer: {precision: bf16-true}\n"}
    found = drivers({**files, "run.sh": line.format("b") + line.format("c")})
    assert [each.cells["weights"].value for each in found] == ["float16", "bfloat16"]
    assert [each.title for each in found] == [f"a.yaml as run.sh:{n} launches it" for n in (1, 2)]


def test_a_package_says_where_a_file_lands() -> None:
    main = "defaults:\n  - setup: fast\nmodel: {x: 1}\n"
    fast = "# @package _global_\ntrainer:\n  _target_: pytorch_lightning.Trainer\n  precision: bf16-true\n"
    files = {"conf/train.yaml": main, "conf/setup/fast.yaml": fast}
    assert cells(files)["weights"] == "bfloat16 @conf/setup/fast.yaml:4"


# -- NeMo -------------------------------------------------------------------------------------------------------

NEMO = "trainer:\n  precision: bf16\nexp_manager:\n  name: x\nmodel:\n  optim:\n    name: adamw\n"
MEGATRON = f"{NEMO}  tensor_model_parallel_size: 2\n"


def test_nemo_trains_speech_by_lightning_and_keeps_its_own_checkpoints() -> None:
    found = values({"a.yaml": NEMO})
    assert (found["compute"], found["weights"]) == ("bfloat16", CASTS_NOTHING)
    assert values({"a.yaml": NEMO.replace("bf16", "bf16\n  enable_checkpointing: false")})["export"] == CASTS_NOTHING


@pytest.mark.parametrize(
    ("keys", "row", "value"),
    [
        ("", "weights", "float32"),
        ("  megatron_amp_O2: true\n", "weights", "bfloat16"),
        ("  megatron_amp_O2: true\n", "master copy", "float32, kept by NeMo's MainParamsOptimizerWrapper"),
        ("  megatron_amp_O2: true\n", "reduction", "float32"),
        ("  megatron_amp_O2: true\n  fsdp: true\n", "weights", "float32"),
        ("  fsdp: true\n  fsdp_grad_reduce_dtype: bf16\n", "reduction", "bfloat16"),
        ("  fp8: true\n", "compute", "float8 in the layers of Transformer Engine; the rest bfloat16"),
        ("  precision: 16\n", "compute", "? `model.precision` is another than that of the Trainer: not followed"),
    ],
)
def test_what_megatron_in_nemo_makes_of_a_key(keys: str, row: str, value: str) -> None:
    assert values({"a.yaml": MEGATRON + keys})[row] == value


@pytest.mark.parametrize(
    ("name", "O2", "reduction"),
    [("distributed_fused_adam", "true", "bfloat16"), ("mcore_distributed_optim", "false", "float32")],
)
def test_the_distributed_optimizers_of_nemo_reduce_in_their_own_dtype(name: str, O2: str, reduction: str) -> None:  # noqa: N803
    optim = MEGATRON.replace("adamw", f"{name}\n    grad_sync_dtype: bf16")
    found = values({"a.yaml": f"{optim}  megatron_amp_O2: {O2}\n"})
    assert (found["reduction"], found["optimizer state"]) == (reduction, "float32")


def test_a_launch_line_names_nemo_s_configuration_without_suffix() -> None:
    line = "python pretrain.py --config-path=conf --config-name=gpt ++model.megatron_amp_O2=true"
    found = cells({"conf/gpt.yaml": MEGATRON, "run.sh": line})
    assert found["weights"] == "bfloat16 @run.sh:1"
    assert drivers({"conf/other.yaml": "trainer: {}\n", "run.sh": line.replace("gpt", "other")}) == []


# -- LLaMA-Factory's files of version 1 -------------------------------------------------------------------------

V1 = "model: org/model\nmodel_class: llm\ntrain_dataset: d.yaml\nmicro_batch_size: 1\n"


@pytest.mark.parametrize(
    ("keys", "row", "value"),
    [
        ("", "compute", "float32"),
        ("dist_config: {name: fsdp2}\n", "compute", "bfloat16"),
        ("dist_config: {name: fsdp2}\n", "weights", "float32"),
        ("dist_config: {name: fsdpturbo}\n", "weights", "bfloat16"),
        ("dist_config: {name: fsdpturbo}\nbf16: false\n", "weights", "float32"),
        ("peft_config: {name: lora}\n", "compute", "as the checkpoint; in the adapters float32"),
        ("peft_config: {name: freeze}\n", "compute", "? without autocast, frozen and trained layers"),
        ("peft_config: {name: lora}\nquant_config: {name: bnb}\n", "weights", "4 bits (nf4, double), the rest"),
        ("dist_config: {name: deepspeed, config_file: no.json}\n", "weights", "? `dist_config.config_file: no.json`"),
    ],
)
def test_what_the_new_trainer_of_llama_factory_makes_of_a_key(keys: str, row: str, value: str) -> None:
    (driver,) = drivers({"a.yaml": V1 + keys, "run.sh": "USE_V1=1 llamafactory-cli train a.yaml"})
    assert driver.framework.name == "LLaMA-Factory v1"
    assert values({"a.yaml": V1 + keys})[row].startswith(value)
