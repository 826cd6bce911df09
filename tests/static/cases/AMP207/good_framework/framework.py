import torch


class ScaledOptimizer(torch.optim.Optimizer):
    def __init__(self, optimizer, scaler):
        self.optimizer = optimizer
        self.scaler = scaler

    def step(self, closure=None):
        self.scaler.step(self.optimizer, closure)
        self.scaler.update()

    def zero_grad(self):
        self.optimizer.zero_grad()


class Framework:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

    def prepare(self, *objects):
        return tuple(self.prepare_one(each) for each in objects)

    def prepare_one(self, each):
        return ScaledOptimizer(each, self.scaler) if isinstance(each, torch.optim.Optimizer) else each

    def backward(self, loss):
        self.scaler.scale(loss).backward()
