import abc

import torch


class Precision(abc.ABC):
    """Two classes stand behind one interface: an object is of one of them, whichever of its methods is called."""

    @abc.abstractmethod
    def backward(self, loss): ...

    @abc.abstractmethod
    def unscale_gradients(self, optimizer):
        pass

    @abc.abstractmethod
    def run_step(self, optimizer):
        raise NotImplementedError


class Full(Precision):
    def backward(self, loss):
        loss.backward()

    def unscale_gradients(self, optimizer):
        pass

    def run_step(self, optimizer):
        optimizer.step()


class Half(Precision):
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def unscale_gradients(self, optimizer):
        self.scaler.unscale_(optimizer)

    def run_step(self, optimizer):
        self.scaler.step(optimizer)
        self.scaler.update()


class Trainer:
    def __init__(self, model, optimizer, loss_fn, precision: Precision):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.precision = precision

    def fit(self, batches):
        for inputs, targets in batches:
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.loss_fn(self.model(inputs), targets)
            self.precision.backward(loss)
            self.precision.unscale_gradients(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.precision.run_step(self.optimizer)
