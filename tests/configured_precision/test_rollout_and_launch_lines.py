"""What samples and what is exported has a cell, and launch lines of all kinds of files are read with what they set."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.cli import main
from verifygate.configured_precision.drivers import Driver, Drivers
from verifygate.configured_precision.read import ConfiguredPrecision
from verifygate.model.precision_contract import Aspect
from verifygate.sources.configuration_file import ConfigurationFile
from verifygate.sources.tree import Sources

GRPO = "model_name_or_path: org/m\ndataset_name: d\n"
AXOLOTL = "base_model: org/m\ndatasets: [{path: d}]\nmicro_batch_size: 2\nbf16: true\n"
CHECKPOINT = "as the checkpoint; of a float32 one bfloat16 where the card has it, else float16"


def read(**files: str) -> Drivers:
    named = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
    return Drivers(ConfigurationFile(path, data=text.encode()) for path, text in named.items())


def the_driver(**files: str) -> Driver:
    (driver,) = read(**files).all()
    return driver


def cell(driver: Driver, name: str) -> str:
    """The value of a cell, `?` and why there is none, or nothing where there is no such row."""
    row = driver.contract.row(Aspect(name))
    if row is None:
        return ""
    return row.declared[0].value if row.declared else f"? {row.not_followed[0].reason}"


@pytest.mark.parametrize(
    ("keys", "script", "rollout"),
    [
        ("", "trl grpo --config a.yaml", "bfloat16"),
        ("", "trl sft --config a.yaml", ""),
        ("use_vllm: true\n", "trl grpo --config a.yaml", CHECKPOINT),
        (
            "use_vllm: true\nuse_peft: true\nload_in_4bit: true\n",
            "trl grpo --config a.yaml",
            "4 bits (bitsandbytes), the rest as the checkpoint",
        ),
        (
            "use_vllm: true\nvllm_mode: server\n",
            "trl grpo --config a.yaml",
            "? no command line here starts the engine that samples: its `--dtype` decides",
        ),
        (
            "use_vllm: true\nvllm_mode: server\n",
            "trl vllm-serve --model org/m &\ntrl grpo --config a.yaml",
            CHECKPOINT,
        ),
        (
            "use_vllm: true\nvllm_mode: server\n",
            "trl vllm-serve --model org/m --dtype=half &\ntrl vllm-serve --model org/other &\ntrl grpo --config a.yaml",
            "float16",
        ),
        (
            "use_transformers_continuous_batching: true\n",
            "trl grpo --config a.yaml",
            "? continuous batching casts the trained weights as it samples: not followed",
        ),
    ],
)
def test_in_which_dtype_trl_samples(keys: str, script: str, rollout: str) -> None:
    assert cell(the_driver(a_dot_yaml=GRPO + keys, run_dot_sh=script), "rollout") == rollout


def test_the_server_of_axolotl_takes_the_dtype_and_the_colocated_engine_does_not() -> None:
    engine = "rl: grpo\ntrl: {use_vllm: true, vllm_mode: %s}\nvllm: {dtype: float16}\n"
    assert cell(the_driver(a_dot_yml=AXOLOTL + engine % "server"), "rollout") == "float16"
    assert cell(the_driver(a_dot_yml=AXOLOTL + engine % "colocate"), "rollout") == CHECKPOINT
    served = the_driver(a_dot_yml=AXOLOTL + engine % "server", s_dot_sh="axolotl vllm-serve a.yml --dtype bfloat16")
    assert (served.cells["rollout"].path, served.cells["rollout"].value) == ("s.sh", "bfloat16")
    assert cell(the_driver(a_dot_yml=AXOLOTL), "rollout") == ""


def test_a_command_line_of_verl_is_a_program_without_a_file() -> None:
    line = (
        "python3 -m verl.trainer.main_ppo \\\n  actor_rollout_ref.model.path=org/m \\\n"
        "  +actor_rollout_ref.actor.fsdp_config.model_dtype=bf16 \\\n  actor_rollout_ref.rollout.dtype=float16\n"
    )
    driver = the_driver(run_dot_sh=line)
    assert driver.title == "run.sh:1"
    assert (cell(driver, "weights"), driver.cells["weights"].line) == ("bfloat16", 3)
    assert (cell(driver, "compute"), driver.cells["compute"].default) == (
        "bfloat16",
        "actor_rollout_ref.actor.fsdp_config.dtype",
    )
    assert (cell(driver, "rollout"), driver.cells["rollout"].line) == ("float16", 4)
    assert cell(driver, "reduction") == "float32"


def test_what_is_exported_has_the_dtype_of_its_own_file() -> None:
    export = "model_name_or_path: m\ntemplate: t\nexport_dir: out\n"
    assert cell(the_driver(a_dot_yaml=export + "infer_dtype: bfloat16\n"), "export") == "bfloat16"
    assert cell(the_driver(a_dot_yaml=export + "export_quantization_bit: 4\n"), "export").startswith("4 bits (GPTQ)")
    text = "dtype: bf16\nquantizer:\n  _component_: torchtune.training.quantization.Int8DynActInt4WeightQuantizer\n"
    driver = the_driver(a_dot_yaml=text, run_dot_sh="tune run quantize --config a.yaml")
    assert [each.aspect.value for each in driver.contract.rows] == ["driver", "weights", "export"]
    assert cell(driver, "export") == "int4 weights, int8 activations (torchao)"


@pytest.mark.parametrize(
    ("files", "compute", "unsure"),
    [
        ({"job_dot_sbatch": "CONFIG=a.yml\nsrun axolotl train $CONFIG --bf16 false\n"}, "float32", ""),
        ({"run_dot_sh": "C=a.yml\nC=b.yml\naxolotl train $C --bf16 false\n"}, "bfloat16", "unless it is the file that"),
        (
            {"run_dot_sh": "axolotl train ${CONFIG:-a.yml} --bf16 false\n"},
            "float32",
            "unless `CONFIG` of run.sh:1 is set otherwise",
        ),
        ({"justfile": 'config := "a.yml"\nt:\n    axolotl train {{config}} --bf16 false\n'}, "float32", ""),
        (
            {"Makefile": "include mk/a.mk\n", "mk__a_dot_mk": "C := a.yml\nt:\n\taxolotl train $(C) --no-bf16\n"},
            "float32",
            "",
        ),
        (
            {"Makefile": "include mk/a.mk\nt:\n\taxolotl train $(C) --no-bf16\n", "mk__a_dot_mk": "C := a.yml\n"},
            "float32",
            "",
        ),
        (
            {"Dockerfile": 'ENTRYPOINT ["axolotl", "train"]\nRUN ls\nCMD ["a.yml", "--bf16", "false"]\n'},
            "float32",
            "",
        ),
        (
            {
                "docker-compose_dot_yml": "services:\n  t:\n    entrypoint: [axolotl, train]\n    command:\n"
                "      - a.yml\n      - --bf16=false\n"
            },
            "float32",
            "",
        ),
        (
            {"compose_dot_yaml": "services:\n  t:\n    command: >\n      axolotl train\n      a.yml --bf16 false\n"},
            "float32",
            "",
        ),
        ({"bitbucket-pipelines_dot_yml": "x:\n  - script:\n    - axolotl train a.yml --bf16=false\n"}, "float32", ""),
    ],
)
def test_launch_lines_in_files_of_all_kinds(files: dict[str, str], compute: str, unsure: str) -> None:
    driver = the_driver(a_dot_yml=AXOLOTL, **files)
    assert cell(driver, "compute") == compute
    assert driver.unsure.startswith(unsure) if unsure else not driver.unsure


def test_an_override_has_its_own_line() -> None:
    driver = the_driver(a_dot_yml=AXOLOTL, run_dot_sh="axolotl train a.yml \\\n  --lr 1 \\\n  --bf16 false\n")
    assert (driver.cells["compute"].path, driver.cells["compute"].line) == ("run.sh", 3)


def test_a_launch_line_that_leads_nowhere_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yml").write_text(AXOLOTL, encoding="utf-8")
    (tmp_path / "run.sh").write_text("axolotl train gone.yml\ntrl dpo --config $FILE\n", encoding="utf-8")
    assert main(["contract"]) == 0
    assert capsys.readouterr().err == (
        "run.sh:1: not followed: axolotl trains by `gone.yml`, which is not here\n"
        "run.sh:2: not followed: TRL trains by `$FILE`, which is named when it runs\n"
    )
    assert main(["check", "--no-cache"]) == 0
    assert "    run.sh:1: axolotl trains by `gone.yml`, which is not here\n" in capsys.readouterr().out


TUNE = "model: {_component_: torchtune.models.llama3.lora_llama3_8b}\noptimizer: {_component_: torch.optim.AdamW}\n"
TUNE += "checkpointer: {_component_: torchtune.training.FullModelHFCheckpointer}\ndtype: bf16\n"


def test_two_recipes_of_one_file_are_two_and_a_setting_before_the_file_hides_none() -> None:
    line = "tune run {} --config a.yaml\n"
    script = line.format("quantize") + line.format("recipes/lora_finetune_single_device.py")
    exported, trained = read(a_dot_yaml=TUNE, run_dot_sh=script).all()
    assert (cell(exported, "compute"), cell(trained, "reduction")) == ("", "none: one device")
    assert trained.cells["reduction"].said == "recipe: recipes/lora_finetune_single_device.py"
    assert cell(the_driver(a_dot_yaml=TUNE, run_dot_sh=line.format("full dtype=fp32")), "compute") == "float32"


def test_a_line_that_may_be_another_programs_misses_no_file_and_a_long_one_is_none() -> None:
    lines = "python main.py fit --config gone.yaml\npython train.py --config-name=gone\n"
    assert read(a_dot_yml=AXOLOTL, run_dot_sh=lines).unread == []
    assert [each.reason.split()[0] for each in read(run_dot_sh="lmf train gone.yaml\n").unread] == ["LLaMA-Factory"]
    many = f"A={'x' * 1000}\naxolotl train a.yml --bf16 false {'$A ' * 9}\n"
    assert the_driver(a_dot_yml=AXOLOTL, run_dot_sh=many).launched is None


def test_what_a_further_file_sets_anew_is_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    first = "seed_everything: 1\nmodel: {class_path: a.B}\ntrainer: {precision: 16, devices: 1}\n"
    (tmp_path / "a.yaml").write_text(first, encoding="utf-8")
    (tmp_path / "b.yaml").write_text("trainer: {precision: bf16-true}\n", encoding="utf-8")
    (tmp_path / "run.sh").write_text("python main.py fit --config a.yaml --config b.yaml\n", encoding="utf-8")
    found = Sources((), configuration=[ConfigurationFile(p.name, data=p.read_bytes()) for p in tmp_path.iterdir()])
    set_at = [(each.path, each.value) for each in ConfiguredPrecision(found).settings if each.aspect == "precision"]
    assert set_at == [("b.yaml", "bf16-true")]
    assert main(["check", "--no-cache"]) == 0
    assert "a.yaml" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "is_launched"),
    [
        ('echo "next: axolotl train a.yml --bf16 false"', False),
        ("\t@printf 'axolotl train a.yml --bf16 false' && ls", False),
        ("echo start; axolotl train a.yml --bf16 false", True),
        ('echo "axolotl train a.yml --bf16 false" > job.sh', True),
        ("axolotl preprocess a.yml --bf16 false", False),
    ],
)
def test_what_a_line_prints_or_prepares_trains_nothing(line: str, *, is_launched: bool) -> None:
    driver = the_driver(a_dot_yml=AXOLOTL, run_dot_sh=f"{line}\n")
    assert (driver.launched == ("run.sh", 1)) is is_launched


def test_what_every_launch_sets_of_a_composed_configuration_is_not_what_it_holds() -> None:
    files = {
        "conf/config.yaml": "defaults:\n  - trainer: gpu\nmodel: {}\n",
        "conf/trainer/gpu.yaml": "_target_: lightning.Trainer\nprecision: 16-mixed\ndevices: 1\n",
        "conf/experiment/big.yaml": "# @package _global_\ntrainer: {precision: bf16-true}\n",
        "conf/data/big.yaml": "size: 4\n",
    }

    def compute(*lines: str) -> tuple[str, int]:
        said = the_driver(**files, run_dot_sh="\n".join(lines)).cells["compute"]
        return said.gap or said.value, said.line

    reason = "`trainer.precision=bf16-true` is set where train.py is started"
    assert compute("python train.py trainer.precision=bf16-true") == (reason, 1)
    assert compute("cd /a", "srun python train.py -m seed=1,2 trainer=ddp")[1] == 2
    assert compute("python train.py +experiment=big")[0].startswith("`+experiment=big`")
    for others in ("python train.py trainer=ddp", "python train.py data=big", "ruff check train.py trainer=ddp"):
        assert compute(others, "python train.py --quick")[0].startswith("float16")


@pytest.mark.parametrize(
    ("device", "state"),
    [
        ("cpu", "float32, of the CPU optimizer that Accelerate puts in place"),
        ("none", "8 bits in blocks; float32 for tensors under 4096 elements"),
    ],
)
def test_an_offloaded_optimizer_is_another_one(device: str, state: str) -> None:
    text = AXOLOTL + "optimizer: adamw_bnb_8bit\ndeepspeed: ds.json\n"
    zero = f'"zero_optimization": {{"stage": 2, "offload_optimizer": {{"device": "{device}"}}}}'
    zero = f'{{"bf16": {{"enabled": true}}, {zero}}}'
    assert the_driver(a_dot_yml=text, ds_dot_json=zero).cells["optimizer state"].value == state


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ("fsdp_config.model_dtype=bfloat16 actor_rollout_ref.actor.optim.lr=1e-6", "AMP701"),
        ("fsdp_config.model_dtype=bfloat16", "AMP701"),  # that is the default
        ("fsdp_config.model_dtype=bfloat16 actor_rollout_ref.actor.optim.lr=1e-3", ""),
        ("optim.lr=1e-6", ""),  # float32 weights by default
    ],
)
def test_verl_loses_small_steps_on_bfloat16_weights(options: str, rule: str) -> None:
    driver = the_driver(run_dot_sh=f"python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.{options}\n")
    assert ",".join(cell.rule for cell, is_certain in driver.faults if is_certain) == rule


def test_axolotl_refuses_qlora_of_weights_that_are_not_quantised() -> None:
    driver = the_driver(a_dot_yml=AXOLOTL + "adapter: qlora\nload_in_4bit: false\n", run_dot_sh="axolotl train a.yml\n")
    assert [(cell.rule, cell.line, is_certain) for cell, is_certain in driver.faults] == [("AMP612", 6, True)]
    assert cell(driver, "weights").startswith("? `adapter: qlora` without `load_in_4bit`")
