"""A class saves through a function beside it, and collects the states in a list."""

import torch
from torch.cuda.amp import GradScaler


class Pair:
    def __init__(self, generator, critic, opt_g, opt_c):
        self.generator, self.critic, self.opt_g, self.opt_c = generator, critic, opt_g, opt_c
        self.scaler = GradScaler()

    def train_step(self, loss):
        self.scaler.scale(loss).backward()
        self.scaler.step(self.opt_g)
        self.scaler.update()

    def save(self, path):
        _write(self.generator, self.critic, self.opt_g, self.opt_c, path)

    def load(self, path):
        state = torch.load(path)
        self.generator.load_state_dict(state["generator"])
        self.opt_g.load_state_dict(state["opt_g"])
        self.opt_c.load_state_dict(state["opt_c"])


def _write(generator, critic, opt_g, opt_c, path):
    torch.save(
        {
            "generator": generator.state_dict(),
            "critic": critic.state_dict(),
            "opt_g": opt_g.state_dict(),  # expect: AMP302
            "opt_c": opt_c.state_dict(),  # expect: AMP302
        },
        path,
    )


class Several:
    def __init__(self, model, optimizers):
        self.model, self.optimizers = model, optimizers
        self.amp_scalar = GradScaler()

    def dump_checkpoint(self):
        checkpoint = {"model": self.model.state_dict()}
        states = []
        for optimizer in self.optimizers:
            if optimizer is not None:
                states.append(optimizer.state_dict())  # expect: AMP302
        checkpoint["optimizer_states"] = states
        return checkpoint

    def restore(self, checkpoint):
        for optimizer, state in zip(self.optimizers, checkpoint["optimizer_states"]):
            optimizer.load_state_dict(state)
