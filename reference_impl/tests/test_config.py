"""Defaults, file, command line: typed, and helpful when they are wrong."""

from __future__ import annotations

import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from reference_impl.config import Config, make_config, read_config
from reference_impl.errors import ConfigError
from reference_impl.train import main

CONFIGS = Path(__file__).parents[1] / "configs"


def test_later_arguments_win_over_the_file_and_the_file_over_defaults(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text('precision = "bf16"\nsteps = 7\nlearning_rate = 1\n')
    cfg = read_config([str(path), "--steps=9", "--allow-fallback=true", "--grad_clip=0.5"])
    assert (cfg.precision, cfg.steps, cfg.learning_rate, cfg.allow_fallback) == ("bf16", 9, 1.0, True)
    assert cfg.grad_clip == 0.5
    assert cfg.accumulation == Config().accumulation


@pytest.mark.requirement("AMP-07")
def test_amp_is_off_by_default_and_one_key_turns_it_on() -> None:
    assert read_config([]) == Config(precision="fp32")
    assert read_config(["--precision=fp16"]) == Config(precision="fp16")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--precison=bf16"], "unknown configuration key 'precison'; did you mean 'precision'"),
        (["--zzzzzzz=1"], "known keys: precision, device"),
        (["--steps=many"], "steps = 'many' must be of type int"),
        (["--steps=1.5"], "must be of type int"),
        (["--resume=yes"], "resume = 'yes' must be true or false"),
        (["--resume"], "write --resume=VALUE"),
        (["--precision=fp8"], "precision = 'fp8' is none of fp32, bf16, fp16, auto"),
        (["--steps=0"], "steps = 0 must be greater than 0"),
        (["--width=30"], "width = 30 must be a multiple of heads = 4"),
        (["--threads=-1"], "threads = -1 must be 0 or greater"),
        (["--dropout=1"], r"must lie in \[0, 1\)"),
        (["--batch_size=20000"], "more than train_items"),
        (["nowhere.toml"], "cannot read nowhere.toml"),
    ],
)
def test_a_wrong_argument_is_named(arguments: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_config(arguments)


@pytest.mark.parametrize(("key", "value"), [("steps", True), ("resume", 1), ("device", 3), ("steps", 2.0)])
def test_a_value_of_another_type_is_refused(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"{key} = .* must be of type"):
        make_config({key: value})


def test_broken_toml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("steps = = 3")
    with pytest.raises(ConfigError, match=r"run\.toml is not valid TOML"):
        read_config([str(path)])


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda path: path.stem)
def test_the_shipped_files_are_valid(path: Path) -> None:
    assert read_config([str(path)]).steps >= 200


def test_the_command_line_says_in_one_line_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["train", "--presicion=bf16"])
    with pytest.raises(SystemExit, match=r"^ConfigError: unknown configuration key"):
        main()


def test_a_config_cannot_be_changed_midway() -> None:
    with pytest.raises(FrozenInstanceError):
        Config().steps = 3  # type: ignore[misc]
