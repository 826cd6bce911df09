import deepspeed
import lightning as L
import torch
from accelerate import Accelerator, GradScalerKwargs
from lightning.pytorch.plugins import MixedPrecision
from transformers import TrainingArguments


def one_of_two(args):
    bf16 = torch.cuda.is_bf16_supported()
    one = TrainingArguments("out", fp16=not bf16, bf16=bf16)
    two = TrainingArguments("out", fp16=args.fp16, bf16=args.bf16)
    three = TrainingArguments("out", fp16=True, bf16=False)
    return one, two, three


def settings(net, bf16):
    both = {"fp16": {"enabled": not bf16}, "bf16": {"enabled": bf16}}
    deepspeed.initialize(model=net, config={"fp16": {"enabled": True}, "bf16": {"enabled": False}})
    return deepspeed.initialize(model=net, config=both)


def words(args, scaler):
    L.Trainer(precision="bf16-true")
    L.Trainer(precision=args.precision)
    L.Trainer(precision=None, plugins=MixedPrecision("16-mixed", "cuda", scaler))
    L.Fabric(precision=16)
    Accelerator(mixed_precision=args.mixed_precision)
    Accelerator(mixed_precision="bf16", kwargs_handlers=[GradScalerKwargs(enabled=False)])
    Accelerator(mixed_precision="fp16", kwargs_handlers=[GradScalerKwargs(init_scale=1024.0)])


class Trainer:
    def __init__(self, precision, amp_backend):
        self.precision, self.amp_backend = precision, amp_backend


def own():
    return Trainer(precision="fp16", amp_backend="native")
