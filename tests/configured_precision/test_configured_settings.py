"""What YAML, JSON, TOML and shell scripts set for the precision: with their lines, and with what names the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.configured_precision import read
from verifygate.configured_precision.document import DocumentError, parse
from verifygate.configured_precision.read import ConfiguredPrecision
from verifygate.sources.discovery import read_sources

TORCH = "import torch\n"


def project(folder: Path, **files: str) -> ConfiguredPrecision:
    """The configuration of files by path: `__` stands for a slash, `_dot_` for a dot."""
    for name, text in {"train_dot_py": TORCH, **files}.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return ConfiguredPrecision(read_sources(folder, ["."]))


def told(found: ConfiguredPrecision) -> list[tuple[str, str, str, str, int]]:
    return [(each.framework, each.aspect, each.key, each.value, each.line) for each in found.settings]


def test_a_lightning_table_is_told_by_its_key_its_target_or_its_folder(tmp_path: Path) -> None:
    found = project(
        tmp_path,
        cli_dot_yaml="seed: 1\ntrainer:\n  max_epochs: 3\n  precision: 16-mixed\n  gradient_clip_val: 0.5\n",
        target_dot_yaml="model:\n  fabric_or_so:\n    _target_: lightning.Fabric\n    precision: bf16-true\n",
        conf__trainer__gpu_dot_yaml="accelerator: gpu\nprecision: 32\n",
        metric_dot_yaml="tolerance:\n  precision: 0.01\n",
    )
    assert told(found) == [
        ("Lightning", "precision", "trainer.precision", "16-mixed", 4),
        ("Lightning", "clip", "trainer.gradient_clip_val", "0.5", 5),
        ("Lightning", "precision", "precision", "32", 2),
        ("Lightning", "precision", "model.fabric_or_so.precision", "bf16-true", 4),
    ]
    assert [each.scales for each in found.settings if each.aspect == "precision"] == [True, False, False]


def test_accelerate_hugging_face_and_own_keys_are_told_apart(tmp_path: Path) -> None:
    found = project(
        tmp_path,
        a_dot_yaml="compute_environment: LOCAL_MACHINE\nmixed_precision: 'no'\n",
        b_dot_yaml="base_model: x\nmicro_batch_size: 2\nbf16: auto\nfp16:\ntorch_dtype: bfloat16\n",
        c_dot_yaml="train:\n  use_amp: yes\n  epochs: 3\n",
    )
    assert told(found) == [
        ("Accelerate", "precision", "mixed_precision", "no", 2),
        ("Hugging Face Trainer", "precision", "bf16", "auto", 3),
        ("Hugging Face Trainer", "precision", "fp16", "", 4),
        ("Hugging Face Trainer", "weights", "torch_dtype", "bfloat16", 5),
        ("", "own switch", "train.use_amp", "yes", 2),
    ]
    accelerate, bf16, fp16, *_ = found.settings
    assert (accelerate.scales, bf16.scales, fp16.scales) == (False, None, False)
    assert bf16.is_interpolated


def test_deepspeed_json_is_read_with_tabs_and_lines(tmp_path: Path) -> None:
    text = '{\n\t"train_batch_size": 8,\n\t"fp16": {\n\t\t"enabled": true,\n\t\t"loss_scale": 0\n\t},\n'
    found = project(tmp_path, ds_dot_json=text + '\t"gradient_clipping": 1.0\n}\n')
    assert told(found) == [
        ("DeepSpeed", "precision", "fp16.enabled", "true", 4),
        ("DeepSpeed", "loss scale", "fp16.loss_scale", "0", 5),
        ("DeepSpeed", "clip", "gradient_clipping", "1.0", 7),
    ]


def test_what_a_section_that_is_off_says_besides_has_no_effect(tmp_path: Path) -> None:
    text = '{"fp16": {"enabled": false, "loss_scale": 128}, "bf16": {"enabled": true}}'
    assert {each.key for each in project(tmp_path, ds_dot_json=text).settings} == {"fp16.enabled", "bf16.enabled"}


def test_toml_lines_are_those_of_the_keys(tmp_path: Path) -> None:
    text = '[model]\nname = "x"\nconverters = ["float8"]\n\n[training]\nsteps = 3\nmixed_precision_param = "bfloat16"\n'
    found = project(tmp_path, run_dot_toml=text + 'mixed_precision_reduce = "float32"\n')
    assert told(found) == [
        ("torchtitan", "fp8", "model.converters", "float8", 3),
        ("torchtitan", "compute", "training.mixed_precision_param", "bfloat16", 7),
        ("torchtitan", "reduction", "training.mixed_precision_reduce", "float32", 8),
    ]


def test_flags_belong_to_the_launcher_or_to_the_program(tmp_path: Path) -> None:
    found = project(
        tmp_path,
        go_dot_sh="# accelerate launch --mixed_precision fp16 train.py\n"
        "accelerate launch --mixed_precision=bf16 \\\n  tools/tune.py --mixed_precision fp16 --lr 1\n"
        "torchrun fit.py --precision $PRECISION\npython fit.py trainer.precision=16-mixed\n",
        tools__tune_dot_py="from accelerate import Accelerator\nAccelerator()\n",
        fit_dot_py="import lightning\n",
    )
    assert told(found) == [
        ("Accelerate", "precision", "mixed_precision", "bf16", 2),
        ("Accelerate", "precision", "mixed_precision", "fp16", 3),
        ("Lightning", "precision", "precision", "$PRECISION", 4),
        ("Lightning", "precision", "trainer.precision", "16-mixed", 5),
    ]
    assert [each.programs for each in found.settings] == [("tools/tune.py",)] * 2 + [("fit.py",)] * 2
    assert found.settings[2].scales is None


HYDRA = "import hydra, torch\n\n@hydra.main(config_path='conf', config_name='root.yaml')\ndef main(cfg): ...\n"


def test_hydra_is_composed_as_far_as_it_is_written_out(tmp_path: Path) -> None:
    """What a later file overrides does not count; what the program chooses is named as not followed."""
    found = project(
        tmp_path,
        train_dot_py=HYDRA,
        conf__root_dot_yaml="defaults:\n  - trainer: ddp\n  - model: ${which}\n  - _self_\n",
        conf__trainer__base_dot_yaml="_target_: lightning.Trainer\nprecision: 32\n",
        conf__trainer__ddp_dot_yaml="defaults:\n  - base\nprecision: 16-mixed\n",
        conf__trainer__other_dot_yaml="precision: bf16-mixed\n",
    )
    of_program = found.of("Lightning", "train.py", {"train.py"})
    assert [(each.path, each.value) for each in of_program] == [("conf/trainer/ddp.yaml", "16-mixed")]
    assert of_program[0].reach == "composed by conf/root.yaml:2"
    assert [(each.path, each.line) for each in found.unread] == [("conf/root.yaml", 3)]


def test_a_file_is_reached_from_the_code_that_names_it_and_not_from_its_comments(tmp_path: Path) -> None:
    ds = '{"train_batch_size": 8, "bf16": {"enabled": true}}'
    found = project(
        tmp_path,
        a__ds_dot_json=ds,
        b__ds_dot_json=ds,
        b__train_dot_py="import deepspeed\nCONFIG = 'ds.json'\n",
        c_dot_py="import torch\n# see a/ds.json\n",
    )
    assert {each.path: each.reach for each in found.settings} == {"a/ds.json": "", "b/ds.json": "named at b/train.py:2"}
    assert [each.path for each in found.of("DeepSpeed", "b/train.py", {"b/train.py"})] == ["b/ds.json"]
    assert [each.path for each in found.of("DeepSpeed", "c.py", {"c.py"})] == ["a/ds.json"]


def test_a_file_in_another_part_of_the_tree_says_nothing_of_a_program(tmp_path: Path) -> None:
    found = project(tmp_path, x__y__accelerate_dot_yaml="num_processes: 1\nmixed_precision: bf16\n", z__t_dot_py=TORCH)
    assert found.of("Accelerate", "x/run.py", {"x/run.py"})
    (tmp_path / "x/y/other.py").write_text(TORCH, encoding="utf-8")
    beside_another = ConfiguredPrecision(read_sources(tmp_path, ["."]))
    assert not beside_another.of("Accelerate", "x/run.py", {"x/run.py"})
    assert beside_another.of("Accelerate", "x/y/other.py", {"x/y/other.py"})
    assert not found.of("Accelerate", "z/t.py", {"z/t.py"})


def test_what_cannot_be_parsed_is_a_note(tmp_path: Path) -> None:
    found = project(
        tmp_path,
        a_dot_yaml="precision: [16-mixed\n",
        b_dot_toml="dtype = \n",
        c_dot_yaml="trainer: {precision: 16-mixed}\n",
    )
    assert [each.path for each in found.settings] == ["c.yaml"]
    assert {each.path for each in found.unread} == {"a.yaml", "b.toml"}


def test_files_of_tests_and_descriptions_of_checkpoints_set_nothing(tmp_path: Path) -> None:
    found = project(
        tmp_path,
        tests__trainer_dot_yaml="trainer: {precision: 16-mixed}\n",
        model__config_dot_json='{"architectures": ["A"], "torch_dtype": "float16", "use_amp": true}',
    )
    assert told(found) == []


def test_nothing_is_read_where_no_source_trains(tmp_path: Path) -> None:
    assert told(project(tmp_path, train_dot_py="x = 1\n", a_dot_yaml="trainer: {precision: 16-mixed}\n")) == []


def test_there_is_a_limit_on_what_is_parsed_and_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "MAX_FILES", 2)
    texts = {f"{name}_dot_yaml": "trainer: {precision: 16-mixed}\n" for name in "abc"}
    found = project(tmp_path, **texts)
    assert [each.path for each in found.settings] == ["a.yaml", "b.yaml"]
    assert [each.reason for each in found.unread] == ["only the first 2 of 3 files that name a precision are read"]


def test_aliases_are_one_value_and_merged_keys_give_way() -> None:
    base = "base: &b\n  precision: 16-mixed\n  devices: 1\n"
    root = parse(base + "trainer:\n  <<: *b\n  devices: 2\n", ".yaml")
    trainer = root.table["trainer"].table
    assert (trainer["precision"].text, trainer["precision"].line, trainer["devices"].text) == ("16-mixed", 2, "2")
    many = "a: &a [x]\n" + "".join(f"{n}: &n{n} [*{'a' if not n else f'n{n - 1}'}, *a]\n" for n in range(40))
    assert len(list(parse(many, ".yaml").tables())) == 1
    with pytest.raises(DocumentError):
        parse("a: &a [*a]\n", ".yaml")
    with pytest.raises(DocumentError):
        parse("[" * 100, ".json")


def test_options_of_another_projects_program_are_no_settings(tmp_path: Path) -> None:
    serves = "serve:\n\tpython -m vllm.entrypoints.api_server --dtype float16\n"
    starts = "train:\n\tpython -m torch.distributed.run train.py --dtype float16\n\tpython -m train --dtype bfloat16\n"
    found = project(tmp_path, Makefile=serves + starts)
    assert [(value, line) for _, _, _, value, line in told(found)] == [("float16", 4), ("bfloat16", 5)]
