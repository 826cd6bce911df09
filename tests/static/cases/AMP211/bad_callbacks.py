import torch
from lightning.pytorch.callbacks import Callback
from torch.nn.utils import clip_grad_norm_
from transformers import Trainer, TrainerCallback, TrainingArguments


class AtTheEnd(TrainerCallback):
    def __init__(self, limit):
        self.limit = limit

    def on_step_end(self, args, state, control, **kwargs):
        clip_grad_norm_(kwargs["model"].parameters(), self.limit)  # expect: AMP211


class Base(TrainerCallback):
    def hold_back(self, model):
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)


class BehindTheStep(Base):
    def on_optimizer_step(self, args, state, control, model=None, **kwargs):
        self.hold_back(model)  # expect: AMP211


class BeforeZeroing(Callback):
    def on_before_zero_grad(self, trainer, pl_module, optimizer):
        clip_grad_norm_(pl_module.parameters(), 1.0)  # expect: AMP211 likely


def main(net, data):
    arguments = TrainingArguments("out", bf16=True)
    Trainer(model=net, args=arguments, train_dataset=data, callbacks=[AtTheEnd(1.0), BehindTheStep()]).train()
