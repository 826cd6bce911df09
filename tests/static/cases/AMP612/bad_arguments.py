import lightning as L
from accelerate import Accelerator, GradScalerKwargs
from lightning.pytorch.plugins import MixedPrecision
from transformers import Seq2SeqTrainingArguments, TrainingArguments

HALF = True


def transformers_takes_one(name):
    one = TrainingArguments("out", fp16=True, bf16=HALF)  # expect: AMP612
    two = Seq2SeqTrainingArguments(name, bf16=True, fp16=True)  # expect: AMP612
    return one, two


def words(precise):
    accelerator = Accelerator(mixed_precision="float16")  # expect: AMP612
    trainer = L.Trainer(precision="fp16")  # expect: AMP612
    fabric = L.Fabric(precision="32-true" if precise else "mixed-16")  # expect: AMP612 likely
    return accelerator, trainer, fabric


def twice(scaler):
    plugin = MixedPrecision("16-mixed", "cuda", scaler)
    return L.Trainer(precision="16-mixed", plugins=[plugin])  # expect: AMP612


def removed():
    L.Trainer(precision=16, amp_backend="native")  # expect: AMP612 likely
    return Accelerator(fp16=True)  # expect: AMP612 likely


class Runner:
    def __init__(self):
        off = GradScalerKwargs(enabled=False)
        self.accelerator = Accelerator(mixed_precision="fp16", kwargs_handlers=[off])  # expect: AMP612
