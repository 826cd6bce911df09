"""Precision handed to a framework."""

import lightning as L
import lightning.pytorch as pl
import pytorch_lightning
from accelerate import Accelerator
from lightning.fabric import Fabric
from pytorch_lightning import Trainer as PLTrainer
from transformers import TrainingArguments

trainer = pl.Trainer(max_epochs=3, precision="16-mixed")  # expect: AMP503
older = pytorch_lightning.Trainer(precision=16)  # expect: AMP503
aliased = PLTrainer(precision="bf16-mixed")  # expect: AMP503
short = L.Trainer(precision="16-mixed")  # expect: AMP503
fabric = Fabric(precision="bf16-mixed")  # expect: AMP503
accelerator = Accelerator(mixed_precision="fp16")  # expect: AMP503


def arguments(output, half):
    return TrainingArguments(output, fp16=half)  # expect: AMP503


class Job:
    def run(self, model, precision):
        self.trainer = pl.Trainer(precision=precision)  # expect: AMP503
        self.trainer.fit(model)
