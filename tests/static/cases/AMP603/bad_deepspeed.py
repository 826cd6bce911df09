import deepspeed
from torch.cuda.amp import GradScaler


class Runner:
    def __init__(self, net, path):
        self.engine, _, _, _ = deepspeed.initialize(model=net, config=path)
        self.scaler = GradScaler()

    def step(self, x, y):
        loss = self.engine(x, y)
        self.engine.backward(self.scaler.scale(loss))  # expect: AMP603
        self.engine.step()
