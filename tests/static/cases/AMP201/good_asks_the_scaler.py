"""The gradients are unscaled once, whoever comes first: the scaler is asked what it did."""

from torch.amp.grad_scaler import OptState
from torch.nn.utils import clip_grad_norm_, clip_grad_value_


class Trainer:
    def __init__(self, model, optimizer, scaler, norm, limit):
        self.model = model
        self.optimizer = optimizer
        self.scaler = scaler
        self.norm = norm
        self.limit = limit

    def clip_the_norm(self):
        if self.norm is not None:
            if self.scaler is not None:
                self.scaler.unscale_(self.optimizer)
            clip_grad_norm_(self.model.parameters(), self.norm)

    def clip_the_values(self):
        if self.limit is not None:
            if self.scaler is not None:
                state = self.scaler._per_optimizer_states[id(self.optimizer)]
                if state["stage"] is not OptState.UNSCALED:
                    self.scaler.unscale_(self.optimizer)
            clip_grad_value_(self.model.parameters(), self.limit)

    def train(self, batches):
        for batch in batches:
            self.optimizer.zero_grad()
            loss = self.model(batch)
            if loss is None:
                continue
            if self.scaler is not None:
                self.scaler.scale(loss).backward()
            else:
                loss.backward()
            self.clip_the_norm()
            self.clip_the_values()
            if self.scaler is not None:
                self.scaler.step(self.optimizer)
                self.scaler.update()
            else:
                self.optimizer.step()
