"""One step of Lightning's Trainer on this machine, against the contract of a file with the same keys."""

from __future__ import annotations

import pytest

from verifygate.configured_precision.drivers import Drivers
from verifygate.sources.configuration_file import ConfigurationFile


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Lightning's own
@pytest.mark.parametrize("precision", ["16", "bf16-true"])
def test_one_step_has_the_dtypes_of_the_contract(precision: str) -> None:
    torch = pytest.importorskip("torch")
    lightning = pytest.importorskip("lightning.pytorch")
    seen: dict[str, object] = {}

    class Model(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 4)

        def training_step(self, batch: object, _: int) -> object:
            made = self.layer(batch)
            seen["compute"] = made.dtype
            return made.float().sum()

        def validation_step(self, batch: object, _: int) -> None:
            seen["evaluation"] = self.layer(batch).dtype

        def on_after_backward(self) -> None:
            seen["gradients"] = self.layer.weight.grad.dtype

        def configure_optimizers(self) -> object:
            return torch.optim.AdamW(self.parameters())

    batches = torch.utils.data.DataLoader(torch.ones(4, 4), batch_size=2)
    model = Model()
    trainer = lightning.Trainer(
        accelerator="cpu", devices=1, precision=precision, max_steps=1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(model, batches, batches)
    seen["weights"] = model.layer.weight.dtype
    seen["optimizer state"] = trainer.optimizers[0].state[model.layer.weight]["exp_avg"].dtype
    text = f"trainer: {{accelerator: cpu, devices: 1, precision: {precision}}}\nmodel: {{x: 1}}\nseed_everything: 1\n"
    (driver,) = Drivers([ConfigurationFile("a.yaml", data=text.encode())]).all()
    told = {row: driver.cells[row].value.split()[0] for row in seen}
    assert told == {row: str(dtype).removeprefix("torch.") for row, dtype in seen.items()}
    assert getattr(trainer.precision_plugin, "scaler", None) is None
    assert driver.cells["loss scale"].value == "none"
