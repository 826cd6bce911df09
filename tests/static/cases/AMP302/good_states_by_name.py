import torch
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict

_KEPT = ["model", "optimizers", "schedulers", "scaler"]


class State:
    """The state of the optimizer is worked out apart; that of the scaler is taken by its name, as the others are."""

    def __init__(self, model, optimizers, scaler):
        self.model, self.optimizers = model, optimizers
        self.scaler = scaler
        self.kept = ["model", "optimizers", "schedulers", "scaler"]

    def optimizer_state(self):
        return {"optimizer": get_optimizer_state_dict(self.model, self.optimizers)}

    def state_dict(self):
        state = {}
        for name in self.kept:
            value = getattr(self, name)
            if name == "optimizers":
                state[name] = self.optimizer_state()
            elif name in _KEPT:
                state[name] = {type(each).__name__: each.state_dict() for each in (value,)}
        return state


def fit(state, loss_fn, batches, path):
    for inputs, targets in batches:
        state.optimizers.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(state.model(inputs), targets)
        state.scaler.scale(loss).backward()
        state.scaler.step(state.optimizers)
        state.scaler.update()
    torch.save(state.state_dict(), path)


def main(model, loss_fn, batches, path):
    fit(State(model, torch.optim.SGD(model.parameters(), 0.1), torch.amp.GradScaler("cuda")), loss_fn, batches, path)
