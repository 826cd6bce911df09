import torch
from torch.nn.utils import clip_grad_norm_
from transformers import TrainerCallback


class BeforeTheStep(TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        clip_grad_norm_(model.parameters(), 1.0)


class Probe(TrainerCallback):
    """It trains a head of its own between the steps."""

    def on_step_end(self, args, state, control, model=None, **kwargs):
        self.head(self.sample).mean().backward()
        clip_grad_norm_(self.head.parameters(), 1.0)
        self.optimizer.step()


class Clips:
    """No callback of a framework."""

    def on_step_end(self, model):
        clip_grad_norm_(model.parameters(), 1.0)


class Weights(TrainerCallback):
    """Weights are clipped, not gradients."""

    def on_step_end(self, args, state, control, model=None, **kwargs):
        with torch.no_grad():
            for weight in model.parameters():
                weight.clamp_(-1, 1)
