"""A configuration that a framework trains by has a contract of its own: every cell, its place, and what decides it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from verifygate.cli import main
from verifygate.configured_precision.drivers import Driver, Drivers, changed
from verifygate.configured_precision.framework_table import frameworks
from verifygate.sources.configuration_file import ConfigurationFile
from verifygate.static.registry import load_rules

AXOLOTL = """
base_model: org/model
datasets:
  - path: org/data
micro_batch_size: 2
"""
FACTORY = """
model_name_or_path: org/model
stage: sft
template: qwen3
do_train: true
"""
HALF = "bfloat16 where the card has it, else float16"


def drivers(**files: str) -> list[Driver]:
    named = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
    return Drivers(ConfigurationFile(path, data=text.encode()) for path, text in named.items()).all()


def cells(driver: Driver) -> dict[str, str]:
    """Each row: its value and line, or `?` and why there is none."""
    found = {}
    for row in driver.contract.rows[1:]:
        said = [f"{each.value} @{each.line}" for each in row.declared]
        found[row.aspect.value] = said[0] if said else f"? {row.not_followed[0].reason}"
    return found


def the_cells(**files: str) -> dict[str, str]:
    (driver,) = drivers(**files)
    return cells(driver)


def test_qlora_of_axolotl_depends_on_the_card_where_bf16_is_auto() -> None:
    text = AXOLOTL + "adapter: qlora\nload_in_4bit: true\nbf16: auto\noptimizer: paged_adamw_8bit\ntf32: true\n"
    assert the_cells(a_dot_yml=text) == {
        "weights": f"4 bits (nf4, double), the rest {HALF}; biases and routers float32 @7",
        "compute": f"{HALF} @8",
        "tf32": "on @10",
        "master copy": "none: the trained weights are float32 @6",
        "gradients": "float32 @6",
        "accumulation": "float32 @6",
        "reduction": "float32 @6",
        "optimizer state": "8 bits in blocks, paged; float32 for tensors under 4096 elements @9",
        "adapters": "float32 @6",
        "loss scale": "none with bfloat16, the Trainer's GradScaler with float16 @8",
        "evaluation": f"{HALF} @8",
        "export": "adapters float32; `axolotl merge-lora` writes the dtype of the base checkpoint @6",
    }


def test_eight_bit_layers_do_not_compute_in_the_precision_of_autocast() -> None:
    keys = "adapter: lora\nload_in_8bit: true\nbf16: true\nlora_modules_to_save: [lm_head]\n"
    found = the_cells(a_dot_yml=AXOLOTL + keys)
    assert found["weights"] == "8 bits (LLM.int8), the rest bfloat16; biases and routers float32 @7"
    assert found["compute"] == "int8 in the 8-bit layers, float16 where values are large; the rest bfloat16 @7"
    assert found["gradients"] == "float32; modules of `lora_modules_to_save` bfloat16 @9"


def test_full_tuning_in_bf16_has_no_master_copy_and_its_norms_stand_apart() -> None:
    found = the_cells(a_dot_yml=AXOLOTL + "bf16: true\n")
    assert found["weights"] == "bfloat16; norms and embeddings float32 @6"
    assert found["master copy"] == "none @6"
    assert (
        the_cells(a_dot_yml=AXOLOTL + "bf16: true\nattn_implementation: flash_attention_2\n")["weights"]
        == "bfloat16 @6"
    )


@pytest.mark.parametrize(
    ("keys", "compute", "scale"),
    [
        ("", HALF, "none with bfloat16, the Trainer's GradScaler with float16"),
        ("fp16: false", "bfloat16 where the card has it, else float32", "none"),
        ("fp16: true", "float16", "the Trainer's GradScaler, through Accelerate"),
        ("bf16:\nfp16: true", "float16", "the Trainer's GradScaler, through Accelerate"),
        ("bf16: true\nfp16: true", "bfloat16", "none"),
        ("bf16: false", "float32", "none"),
    ],
)
def test_what_axolotl_makes_of_bf16_and_fp16(keys: str, compute: str, scale: str) -> None:
    found = the_cells(a_dot_yml=f"{AXOLOTL}flash_attention: true\n{keys}\n")
    assert found["compute"].partition(" @")[0] == compute
    assert found["loss scale"].partition(" @")[0] == scale


def test_deepspeed_decides_in_its_own_file() -> None:
    deepspeed = (
        '{"bf16": {"enabled": true},\n "zero_optimization": {"stage": 2},\n "communication_data_type": "fp32"}\n'
    )
    (driver,) = drivers(a_dot_yml=AXOLOTL + "bf16: true\nadapter: lora\ndeepspeed: ds.json\n", ds_dot_json=deepspeed)
    reduction, master = (driver.cells[each] for each in ("reduction", "master copy"))
    assert (reduction.value, reduction.path, reduction.line) == ("float32", "ds.json", 3)
    assert (master.value, master.path, master.line) == ("float32, kept by DeepSpeed", "ds.json", 2)
    assert cells(driver)["adapters"] == "bfloat16 @1"
    assert cells(driver)["optimizer state"] == "float32 @2"


def test_a_file_that_is_not_here_is_a_gap_and_no_guess() -> None:
    found = the_cells(a_dot_yml=AXOLOTL + "bf16: true\ndeepspeed: deepspeed_configs/zero3.json\n")
    assert found["reduction"] == "? `deepspeed: deepspeed_configs/zero3.json`: that file is not here"
    assert found["tf32"] == "on where the card has it @1"


def test_deepspeed_and_training_that_disagree_are_not_followed() -> None:
    text = AXOLOTL + "bf16: true\ndeepspeed: ds.json\n"
    found = the_cells(a_dot_yml=text, ds_dot_json='{"fp16": {"enabled": true}}')
    assert found["compute"].startswith("? DeepSpeed's `fp16` is on and the training's is not")


def test_fsdp_2_of_axolotl_keeps_the_weights_as_they_are_and_1_casts_them() -> None:
    text = AXOLOTL + "bf16: true\nfsdp_config:\n  offload_params: false\n"
    assert the_cells(a_dot_yml=text)["weights"].startswith("float32 @")
    assert the_cells(a_dot_yml=text + "fsdp_version: 2\n")["weights"] == "bfloat16 @6"


def test_llama_factory_casts_what_it_trains_to_float32() -> None:
    found = the_cells(a_dot_yaml=FACTORY + "finetuning_type: full\nbf16: true\n")
    assert found["weights"] == "float32 @6"
    assert found["compute"] == "bfloat16 @7"
    assert found["optimizer state"] == "float32 @6"
    pure = the_cells(a_dot_yaml=FACTORY + "finetuning_type: full\npure_bf16: true\n")
    assert pure["weights"] == pure["compute"] == "as the checkpoint @7"
    lora = the_cells(a_dot_yaml=FACTORY + "finetuning_type: lora\nquantization_bit: 4\nbf16: true\n")
    assert lora["weights"] == "4 bits (nf4, double), the rest as the checkpoint @7"
    assert lora["adapters"] == "float32 @6"


def test_a_merge_trains_nothing_and_has_two_cells() -> None:
    text = "model_name_or_path: m\nadapter_name_or_path: a\ntemplate: t\nexport_dir: out\n"
    assert set(the_cells(a_dot_yaml=text)) == {"weights", "export"}


def test_trl_is_a_driver_where_a_launch_line_names_it() -> None:
    text = "model_name_or_path: m\ndataset_name: d\nuse_peft: true\nload_in_4bit: true\n"
    assert drivers(a_dot_yaml=text) == []
    (driver,) = drivers(a_dot_yaml=text, run_dot_sh="trl sft \\\n  --config a.yaml --output_dir out\n")
    assert driver.launched == ("run.sh", 2)
    assert cells(driver)["compute"] == "bfloat16 @1"
    assert driver.cells["compute"].default == "bf16"
    assert cells(driver)["adapters"] == "bfloat16 @3"
    whole = text.replace("load_in_4bit: true", "dtype: float16") + "lora_modules_to_save: [lm_head]\nfp16: true\n"
    (driver,) = drivers(a_dot_yaml=whole, run_dot_sh="trl sft --config a.yaml\n")
    assert cells(driver)["adapters"] == "float32; modules of `lora_modules_to_save` float16 @5"
    assert [cell.rule for cell, _ in driver.faults] == ["AMP401"]


def test_torchtune_has_no_autocast_and_no_master_copy() -> None:
    text = (
        "model:\n  _component_: torchtune.models.llama3.qlora_llama3_8b\n"
        "checkpointer:\n  _component_: torchtune.training.FullModelHFCheckpointer\n"
        "optimizer:\n  _component_: torch.optim.AdamW\ndtype: bf16\n"
    )
    found = the_cells(a_dot_yaml=text)
    assert found["weights"] == "4 bits (nf4, double), the rest bfloat16 @2"
    assert found["master copy"] == "none @7"
    assert found["optimizer state"] == found["adapters"] == "bfloat16 @7"
    quantised = the_cells(a_dot_yaml=text + "quantizer:\n  _component_: torchtune.training.quantization.Q\n")
    assert quantised["compute"] == "? fake quantisation by `quantizer` is not followed"


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("run_dot_sh", "accelerate launch --config_file acc.yaml -m axolotl.cli.train conf.txt.yml"),
        ("Makefile", "train:\n\taxolotl train conf.txt.yml"),
        ("Dockerfile", 'CMD ["axolotl", "train", "conf.txt.yml"]'),
        ("job_dot_sbatch", "srun axolotl train conf.txt.yml"),
        (".github__workflows__a_dot_yml", "      - run: axolotl train conf.txt.yml"),
    ],
)
def test_launch_lines_stand_in_scripts_of_all_kinds(script: str, line: str) -> None:
    files = {script: line, "conf_dot_txt_dot_yml": "base_model: m\nbf16: true\n"}
    (driver,) = drivers(**files, acc_dot_yaml="distributed_type: FSDP\n")
    assert driver.launched is not None
    assert cells(driver)["weights"].startswith("float32" if "accelerate" in line else "bfloat16")


def test_a_launch_line_that_overrides_a_key_decides_there() -> None:
    (driver,) = drivers(
        a_dot_yml=AXOLOTL + "bf16: true\n", run_dot_sh="axolotl train a.yml --bf16 false && ls --fp16\n"
    )
    assert driver.title == "a.yml as run.sh:1 launches it"
    assert (driver.cells["compute"].path, driver.cells["compute"].line) == ("run.sh", 1)
    assert driver.cells["compute"].value.startswith("float32")


@pytest.mark.parametrize(
    ("line", "compute"),
    [
        ("llamafactory-cli train a.yml bf16=false # was bf16=true", "float32"),
        ("llamafactory-cli train a.yml # bf16=false", "bfloat16"),
        ('llamafactory-cli train "a.yml" bf16="false"', "float32"),
        ("llamafactory-cli train a.yml bf16=", "float32"),
        ("llamafactory-cli train a.yml bf16=$B", ""),
        ("trl sft --bf16 false --config a.yml", "float32"),
        ("accelerate launch trl/scripts/sft.py --config a.yml --bf16 false", "float32"),
    ],
)
def test_what_counts_of_a_launch_line(line: str, compute: str) -> None:
    (driver,) = drivers(a_dot_yml=FACTORY + "finetuning_type: full\nbf16: true\n", run_dot_sh=line)
    assert driver.cells["compute"].value == compute


def test_options_of_the_launcher_decide_as_its_file_does() -> None:
    text = AXOLOTL + "bf16: true\n"
    (driver,) = drivers(a_dot_yml=text, r_dot_sh="accelerate launch --use_fsdp -m axolotl.cli.train a.yml")
    assert cells(driver)["weights"] == "float32 @1"
    (driver,) = drivers(a_dot_yml=text, r_dot_sh="accelerate launch --config_file no.yaml -m axolotl.cli.train a.yml")
    assert cells(driver)["weights"].startswith("? `--config_file no.yaml`: that file is not here")


@pytest.mark.parametrize(
    ("keys", "row", "value"),
    [
        ("a: &a {bf16: true}\nb: &b {bf16: false}\n<<: [*a, *b]\n", "compute", "bfloat16 @6"),
        ('bf16: "false"\n', "compute", "? `bf16` is the text `false`, and no boolean"),
        ("bf16: true\ndeepspeed: false\n", "reduction", "bfloat16 @6"),
        ("bf16: true\nfsdp: {}\n", "reduction", "bfloat16 @6"),
        ("bf16: true\nfsdp_config:\n  version: 2\n", "weights", "bfloat16 @6"),
        ("bf16: true\nfsdp_config:\n  x: 1\n", "weights", "float32 @7"),
    ],
)
def test_how_keys_are_written(keys: str, row: str, value: str) -> None:
    flash = "attn_implementation: flash_attention_2\n"
    assert the_cells(a_dot_yml=AXOLOTL + keys + flash)[row] == value


def test_a_list_of_aliases_is_not_written_out() -> None:
    nested = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 25))
    found = the_cells(a_dot_yml=AXOLOTL + f"a0: &a0 [x]\n{nested}bf16: *a24\n")
    assert found["compute"].startswith("? ")


def test_several_documents_and_data_are_no_drivers() -> None:
    read = Drivers([ConfigurationFile("a.yml", data=f"{AXOLOTL}---\n{AXOLOTL}".encode())])
    assert read.all() == []
    assert str(read.broken["a.yml"]) == "it holds several documents"
    service = "model_name_or_path: m\nstage: production\ndataset: d\nfp16: true\n"
    assert drivers(service_dot_yaml=service) == []


@pytest.mark.parametrize(
    ("keys", "row", "value"),
    [
        ("rl: dpo\nadapter: qlora\nload_in_4bit: true\n", "gradients", "bfloat16 @7"),
        ("rl: dpo\nadapter: lora\n", "gradients", "float32 @8"),
        (
            "adapter: lora\nlora_modules_to_save: [lm_head]\n",
            "gradients",
            "float32; modules of `lora_modules_to_save` bf",
        ),
        ("bf16: false\nadapter: lora\nlora_modules_to_save: [lm_head]\n", "gradients", "float32 @"),
        ("rl: orpo\nadapter: qlora\nload_in_4bit: true\n", "adapters", "? adapters of quantised weights under this"),
        ("optimizer: adamw_bnb_8bit\n", "optimizer state", "8 bits in blocks; float32 for embeddings and for tensors"),
        (
            "optimizer: adamw_bnb_8bit\nadapter: lora\n",
            "optimizer state",
            "8 bits in blocks; float32 for tensors under",
        ),
    ],
)
def test_what_the_trainers_of_trl_and_transformers_add(keys: str, row: str, value: str) -> None:
    assert the_cells(a_dot_yml=AXOLOTL + "bf16: true\n" + keys)[row].startswith(value)


def test_deepspeed_casts_what_is_not_quantised() -> None:
    line = "trl sft --config a.yml --accelerate_config zero2"
    found = the_cells(a_dot_yml="model_name_or_path: m\nload_in_4bit: true\nuse_peft: true\n", run_dot_sh=line)
    assert found["weights"].startswith("4 bits (nf4), the rest bfloat16")


def test_data_that_holds_such_words_is_no_driver() -> None:
    prose = "- prompt: what does bf16 do in axolotl train a.yml?\n  answer: base_model, datasets, micro_batch_size\n"
    merge = "base_model: m\nmerge_method: slerp\nmodels: []\n"
    assert drivers(data_dot_yml=prose, merge_dot_yml=merge, notes_dot_yaml="bf16: true\nfp16: true\n") == []


def test_what_the_program_decides_when_it_starts_is_said() -> None:
    found = the_cells(a_dot_yml=AXOLOTL + "bf16: ${BF16}\n")
    assert found["compute"] == "? `bf16: ${BF16}` is decided when the program starts"


def test_every_row_of_every_table_names_its_source_and_cells_that_are_there() -> None:
    for framework in frameworks():
        names = {row.cell for row in framework.rows}
        for row in framework.rows:
            assert row.read
            assert (row.value is None) == bool(row.gap), row
            assert not row.rule or row.rule in load_rules(), row
            asked = {key[1:] for key in row.when if key.startswith("$")}
            assert asked <= names, row
            assert {key[1:] for key in row.when if key.startswith("@")} <= framework.names.keys(), row


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_prints_text_markdown_and_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yml").write_text(AXOLOTL + "bf16: true\n", encoding="utf-8")
    assert main(["contract"]) == 0
    assert "compute         bfloat16 (a.yml:6)" in capsys.readouterr().out
    assert main(["contract", "a.yml", "--format", "markdown"]) == 0
    assert "| compute | bfloat16 | a.yml:6 | bf16: true; " in capsys.readouterr().out
    assert main(["contract", "a.yml", "--format", "json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["contracts"]
    assert (told["path"], told["contract"]["rows"][2]["declared"][0]["line"]) == ("a.yml", 6)


def test_a_broken_file_is_one_line_with_its_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yml").write_text(AXOLOTL + "bf16: [true\n", encoding="utf-8")
    (folder / "other.yml").write_text("a: 1\n", encoding="utf-8")
    assert main(["contract", "a.yml"]) == 2
    assert "a.yml:7: cannot be read: " in capsys.readouterr().err
    assert main(["contract"]) == 2
    assert "a.yml:7: cannot be read: " in capsys.readouterr().err
    assert main(["contract", "other.yml"]) == 2
    assert "other.yml:1: its keys are of no framework" in capsys.readouterr().err


def test_one_broken_file_leaves_the_others_their_answers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "broken.yml").write_text(AXOLOTL + "bf16: [true\n", encoding="utf-8")
    (folder / "a.yml").write_text(AXOLOTL + "bf16: true\ndeepspeed: ds.json\n", encoding="utf-8")
    (folder / "ds.json").write_text('{"bf16": \n', encoding="utf-8")
    assert main(["contract", "a.yml"]) == 0
    said = capsys.readouterr()
    assert "a.yml:7: weights: `deepspeed: ds.json`: that file cannot be read" in said.out
    assert not said.err
    (folder / "large.yml").write_text(AXOLOTL + "# \n" * 100_000, encoding="utf-8")
    assert main(["contract", "large.yml"]) == 2
    assert "large.yml:1: cannot be read: it is larger than 256 KiB" in capsys.readouterr().err
    (folder / "tests").mkdir()
    (folder / "tests" / "a.yml").write_text(AXOLOTL + "bf16: true\n", encoding="utf-8")
    assert main(["contract", "tests/a.yml"]) == 0


def test_a_launch_line_that_moves_changes_nothing() -> None:
    def at(script: str) -> list[Driver]:
        return drivers(a_dot_yml=AXOLOTL + "bf16: true\n", run_dot_sh=script)

    line = "axolotl train a.yml --bf16 false\n"
    assert changed(at(line), at("\n" + line)) == []
    moved = changed(at("axolotl train a.yml\n"), at(line))
    assert any(each.startswith("a.yml as run.sh:1 launches it: compute: bfloat16 -> ") for each in moved)
    assert changed(at(line), at(line + "axolotl train a.yml\n")) == ["a.yml: a new configuration that trains"]


def test_since_says_which_cells_moved(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, check=True)

    (folder / "a.yml").write_text(AXOLOTL + "bf16: true\ndeepspeed: ds.json\n", encoding="utf-8")
    zero = '{"bf16": {"enabled": true},\n"zero_optimization": {"stage": 1}%s}\n'
    (folder / "ds.json").write_text(zero % ',\n"communication_data_type": "fp32"', encoding="utf-8")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    assert main(["contract", "--since", "HEAD"]) == 0
    assert "Moved since:\n    nothing\n" in capsys.readouterr().out
    (folder / "ds.json").write_text(zero % ',\n"communication_data_type": "bf16"', encoding="utf-8")
    assert main(["contract", "--since", "HEAD"]) == 0
    assert "Moved since:\n    a.yml: reduction: float32 -> bfloat16, ds.json:3\n" in capsys.readouterr().out


def test_check_judges_a_tree_that_is_a_configuration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yaml").write_text(FACTORY + "finetuning_type: full\nbf16: true\nfp16: true\n", encoding="utf-8")
    (folder / "run.sh").write_text("llamafactory-cli train a.yaml\n", encoding="utf-8")
    assert main(["check", "--no-cache"]) == 1
    told = capsys.readouterr().out
    assert "a.yaml:7:1: AMP901" in told
    assert "LLaMA-Factory 0.9.6.dev0 (ff6d4d12) (run.sh:1)" in told


def test_axolotl_switches_fp16_off_beside_bf16_and_starts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yml").write_text(AXOLOTL + "bf16: true\nfp16: true\n", encoding="utf-8")
    assert main(["check", "--no-cache"]) == 0
    assert "compute         bfloat16" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("llamafactory-cli train a.yaml\n", ""),
        ('llamafactory-cli train a.yaml "$@"\n', "unless what run.sh:1 hands over by a variable sets it"),
        (
            "\nllamafactory-cli train $CONFIG bf16=false\n",
            "unless it is the file that run.sh:2 names by a variable, and that sets more",
        ),
        ("echo $CONFIG\n", ""),
    ],
)
def test_what_a_command_line_hands_over_by_a_variable_is_said(script: str, said: str) -> None:
    (driver,) = drivers(a_dot_yaml=FACTORY + "bf16: true\n", run_dot_sh=script)
    assert driver.contract.rows[0].declared[0].condition == said


@pytest.mark.parametrize(
    ("keys", "script", "said"),
    [
        ("bf16: true\nlearning_rate: 3e-5\n", "axolotl train a.yml", ["AMP701 @7 sure"]),
        ("bf16: true\nlearning_rate: 3e-5\n", "axolotl train a.yml $MORE", ["AMP701 @7"]),
        ("bf16: true\nlearning_rate: 3e-5\n", "", ["AMP701 @7"]),
        ("bf16: auto\nlearning_rate: 3e-5\n", "axolotl train a.yml", ["AMP701 @7"]),
        ("bf16: true\nlearning_rate: 4e-5\n", "axolotl train a.yml", []),
        ("bf16: true\nlearning_rate: ${RATE}\n", "axolotl train a.yml", []),
        ("bf16: true\nlearning_rate: 4e-5\n", "axolotl train a.yml --learning-rate 1e-6", ["AMP701 @1 sure"]),
        ("bf16: true\nlearning_rate: 3e-5\noptimizer: adamw_torch_8bit\n", "", ["AMP701 @7"]),
        ("bf16: true\nlearning_rate: 3e-5\noptimizer: came_pytorch\n", "", []),
        ("bf16: true\nlearning_rate: 3e-5\nadapter: lora\n", "", []),
        ("bf16: true\nload_in_8bit: true\n", "", ["AMP612 @7"]),
        ("fp16: true\nbf16: false\nadapter: lora\n", "", []),
        ("fp16: true\nbf16: false\nadapter: lora\nlora_modules_to_save: [lm_head]\n", "", ["AMP401 @6"]),
    ],
)
def test_what_breaks_a_rule_is_sure_where_a_launch_line_starts_it(keys: str, script: str, said: list[str]) -> None:
    (driver,) = drivers(a_dot_yml=AXOLOTL + keys, run_dot_sh=script)
    assert [f"{cell.rule} @{cell.line}{' sure' if sure else ''}" for cell, sure in driver.faults] == said
