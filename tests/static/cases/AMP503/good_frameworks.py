"""Frameworks in full precision, and other things that have a precision."""

import lightning.pytorch as pl
from accelerate import Accelerator
from sklearn.metrics import precision_score
from transformers import TrainingArguments

trainer = pl.Trainer(max_epochs=3)
full = pl.Trainer(precision="32-true")
number = pl.Trainer(precision=32)
accelerator = Accelerator(mixed_precision="no")
bare = Accelerator()
arguments = TrainingArguments("out", fp16=False)


class Trainer:
    def __init__(self, precision):
        self.precision = precision


own = Trainer(precision="16-mixed")


def report(labels, guesses):
    return precision_score(labels, guesses), round(0.123456, 3)
