"""A callback and the runner ask one state, and both unscale in each second batch: the callback, and then the runner."""

import torch


class Clip:
    def after_backward(self):
        if self.state.step % self.state.accumulate_steps != 0:
            return
        self.state.scaler.unscale_(self.state.optimizer)
        torch.nn.utils.clip_grad_norm_(self.state.model.parameters(), 1.0)


class State:
    def __init__(self, model, optimizer, accumulate_steps):
        self.model, self.optimizer, self.accumulate_steps = model, optimizer, accumulate_steps
        self.scaler = torch.amp.GradScaler("cuda")
        self.step = 0


class Runner:
    def __init__(self, state, callback):
        self.state = state
        self.callback = callback
        self.callback.state = state

    def run(self, batches):
        for number, batch in enumerate(batches):
            self.state.step = number
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.state.model(batch).mean()
            self.state.scaler.scale(loss / self.state.accumulate_steps).backward()
            self.callback.after_backward()
            if self.state.step % self.state.accumulate_steps == 0:
                self.state.scaler.unscale_(self.state.optimizer)  # expect: AMP202 likely
                self.state.scaler.step(self.state.optimizer)
                self.state.scaler.update()
                self.state.optimizer.zero_grad()


def main(model, batches):
    Runner(State(model, torch.optim.SGD(model.parameters(), 0.1), 2), Clip()).run(batches)
