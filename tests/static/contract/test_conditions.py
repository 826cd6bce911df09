"""Where a declaration of the contract holds: under a condition of the source, on one path, by default."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from verifygate.config.settings import StaticSettings
from verifygate.model.precision_contract import Aspect, PrecisionContract
from verifygate.report.contract import ContractInWords
from verifygate.sources.discovery import read_sources
from verifygate.static.engine import analyse


def contract_of(folder: Path, text: str) -> PrecisionContract:
    (folder / "train.py").write_text(textwrap.dedent(text), encoding="utf-8")
    return analyse(read_sources(folder, ["."]), StaticSettings()).contract


def said(contract: PrecisionContract, aspect: Aspect) -> list[tuple[str, int, str]]:
    row = contract.row(aspect)
    return [(each.value, each.line, each.condition) for each in row.declared] if row else []


def test_a_small_state_under_a_condition_says_so_and_names_the_other_branches(tmp_path: Path) -> None:
    contract = contract_of(
        tmp_path,
        """
        import bitsandbytes as bnb
        import torch
        from other import Shampoo

        def fit(net, rows, name):
            if name == "small":
                rule = bnb.optim.AdamW8bit(net.parameters())
            elif name == "plain":
                rule = torch.optim.AdamW(net.parameters())
            else:
                rule = Shampoo(net.parameters())
            for row in rows:
                net(row).mean().backward()
                rule.step()
        """,
    )
    assert said(contract, Aspect.OPTIMIZER_STATE) == [
        ("8 bits", 8, "where `name == 'small'`"),
        ("as the weights (optim.AdamW)", 10, "where `name == 'plain'`"),
    ]
    row = contract.row(Aspect.OPTIMIZER_STATE)
    assert row is not None
    assert [(each.line, each.reason) for each in row.not_followed] == [(12, "the dtypes that `Shampoo` keeps")]
    lines = dict(ContractInWords(contract).text_lines())
    assert "8 bits (train.py:8, where `name == 'small'`)" in lines["optimizer state"]


def test_a_class_that_is_chosen_is_on_one_path(tmp_path: Path) -> None:
    contract = contract_of(
        tmp_path,
        """
        import bitsandbytes as bnb
        import torch

        def fit(net, rows, small):
            Rule8bit = bnb.optim.AdamW8bit if small else torch.optim.AdamW
            rule = Rule8bit(net.parameters())
            for row in rows:
                net(row).mean().backward()
                rule.step()
        """,
    )
    assert said(contract, Aspect.OPTIMIZER_STATE) == [
        ("8 bits", 7, "on one path"),
        ("as the weights (optim.AdamW)", 7, "on one path"),
    ]


SOURCES = {
    "an `if` around a cast": ("if half:\n        net.to(torch.bfloat16)", "where `half`"),
    "its `else`": ("if full:\n        pass\n    else:\n        net.bfloat16()", "where `not full`"),
    "two of them": (
        "if a or b:\n        if c == 1:\n            net.bfloat16()", "where `(a or b) and c == 1`",
    ),
    "none": ("net.bfloat16()", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_a_cast_has_the_conditions_around_it(tmp_path: Path, name: str) -> None:
    cast, condition = SOURCES[name]
    contract = contract_of(
        tmp_path,
        f"""
import torch

def fit(net, rows, half, full, a, b, c):
    {cast}
    adam = torch.optim.AdamW(net.parameters())
    for row in rows:
        net(row).mean().backward()
        adam.step()
""",
    )
    assert [(value, where) for value, _, where in said(contract, Aspect.WEIGHTS)] == [("bfloat16", condition)]


def test_the_condition_of_the_only_call_counts_and_of_several_none(tmp_path: Path) -> None:
    text = """
        import torch

        def lower(net):
            net.bfloat16()
            return net

        def fit(net, rows, half):
            if half:
                net = lower(net)
            adam = torch.optim.AdamW(net.parameters())
            for row in rows:
                net(row).mean().backward()
                adam.step()
        """
    contract = contract_of(tmp_path, text)
    assert [where for *_, where in said(contract, Aspect.WEIGHTS)] == ["where `half`"]


def test_the_loss_scale_and_the_region_have_the_condition_of_their_switch(tmp_path: Path) -> None:
    contract = contract_of(
        tmp_path,
        """
        import torch

        def fit(net, rows, on, kind):
            scaler = torch.amp.GradScaler("cuda", enabled=on)
            adam = torch.optim.Adam(net.parameters())
            for row in rows:
                with torch.autocast("cuda", dtype=torch.float16 if kind == 1 else torch.bfloat16):
                    error = net(row).mean()
                scaler.scale(error).backward()
                scaler.step(adam)
                scaler.update()
        """,
    )
    assert said(contract, Aspect.LOSS_SCALE) == [("GradScaler", 5, "where `on`")]
    assert said(contract, Aspect.COMPUTE) == [("bfloat16", 8, "on one path"), ("float16", 8, "on one path")]


def test_what_argparse_has_by_default_and_what_a_condition_chooses(tmp_path: Path) -> None:
    contract = contract_of(
        tmp_path,
        """
        import argparse
        import lightning as L
        from accelerate import Accelerator

        parser = argparse.ArgumentParser()
        parser.add_argument("--mixed_precision", default="fp16")
        args = parser.parse_args()
        accelerator = Accelerator(mixed_precision=args.mixed_precision)
        trainer = L.Trainer(precision="bf16-mixed" if args.late else "32-true")
        """,
    )
    assert said(contract, Aspect.COMPUTE) == [
        ("float16", 9, "by default"),
        ("bfloat16", 10, "on one path"),
        ("float32", 10, "on one path"),
    ]


def test_of_several_places_the_one_that_always_holds_is_shown(tmp_path: Path) -> None:
    contract = contract_of(
        tmp_path,
        """
        import lightning as L

        def fit(fast):
            if fast:
                L.Trainer(precision="bf16-mixed")
            L.Trainer(precision="bf16-mixed")
        """,
    )
    assert dict(ContractInWords(contract).text_lines())["compute"] == "bfloat16 (train.py:7, and 1 more)"
