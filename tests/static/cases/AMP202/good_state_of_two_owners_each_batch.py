"""A callback unscales in each batch what the runner then steps, by another name for one state."""

import torch


class Clip:
    def after_backward(self):
        self.state.scaler.unscale_(self.state.optimizer)
        torch.nn.utils.clip_grad_norm_(self.state.model.parameters(), 1.0)


class State:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda")


class Runner:
    def __init__(self, state, callback):
        self.state = state
        self.callback = callback
        self.callback.state = state

    def run(self, batches):
        for batch in batches:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.state.model(batch).mean()
            self.state.scaler.scale(loss).backward()
            self.callback.after_backward()
            self.state.scaler.step(self.state.optimizer)
            self.state.scaler.update()
            self.state.optimizer.zero_grad()


def main(model, batches):
    Runner(State(model, torch.optim.SGD(model.parameters(), 0.1)), Clip()).run(batches)
