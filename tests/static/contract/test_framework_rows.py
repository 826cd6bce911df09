"""Rows of frameworks: the evaluation, in the region in which they train, and what Fabric saves."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from verifygate.config.settings import StaticSettings
from verifygate.model.precision_contract import Aspect
from verifygate.sources.discovery import read_sources
from verifygate.static.engine import analyse


def evaluation(folder: Path, text: str) -> list[tuple[str, int]]:
    (folder / "train.py").write_text(textwrap.dedent(text), encoding="utf-8")
    row = analyse(read_sources(folder, ["."]), StaticSettings()).contract.row(Aspect.EVALUATION)
    return [(each.value, each.line) for each in row.declared] if row else []


@pytest.mark.parametrize(
    ("arguments", "evaluates", "expected"),
    [
        ("bf16=True", "trainer.evaluate()", ["bfloat16"]),
        ("fp16=True, fp16_full_eval=True", "trainer.evaluate()", ["float16"]),
        ("bf16=True", "", []),
    ],
)
def test_a_framework_evaluates_as_it_trains_where_the_program_evaluates(
    tmp_path: Path, arguments: str, evaluates: str, expected: list[str]
) -> None:
    found = evaluation(
        tmp_path,
        f"""
        from transformers import Trainer, TrainingArguments

        trainer = Trainer(model=make(), args=TrainingArguments("out", {arguments}), train_dataset=rows)
        trainer.train()
        {evaluates}
        """,
    )

    assert [value.partition(" ")[0] for value, _ in found] == expected


def test_lightning_validates_in_its_region(tmp_path: Path) -> None:
    found = evaluation(
        tmp_path,
        """
        import lightning as L

        class Net(L.LightningModule):
            def training_step(self, batch, index):
                return self.layer(batch).mean()

            def validation_step(self, batch, index):
                self.log("loss", self.layer(batch).mean())

        L.Trainer(precision="16-mixed").fit(Net())
        """,
    )

    assert found == [("float16", 11)]


def test_what_fabric_saves_is_told_though_no_state_dict_is_called(tmp_path: Path) -> None:
    text = """
    import torch
    from lightning.fabric import Fabric

    def fit(net, rows):
        fabric = Fabric(precision="bf16-mixed")
        net, adam = fabric.setup(net, torch.optim.Adam(net.parameters()))
        for row in rows:
            fabric.backward(net(row).mean())
            adam.step()
        fabric.save("last.ckpt", {"model": net, "optimizer": adam})
    """
    (tmp_path / "train.py").write_text(textwrap.dedent(text), encoding="utf-8")
    row = analyse(read_sources(tmp_path, ["."]), StaticSettings()).contract.row(Aspect.CHECKPOINT)

    assert row is not None
    assert [each.value for each in row.declared] == ["model, optimizer, no scaler's state"]
