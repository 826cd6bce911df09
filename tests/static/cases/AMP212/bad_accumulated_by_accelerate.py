import accelerate
from accelerate import Accelerator


def train(model, optimizer, loader, every):
    helper = accelerate.Accelerator(gradient_accumulation_steps=every)
    model, optimizer, loader = helper.prepare(model, optimizer, loader)
    for batch in loader:
        with helper.accumulate(model):
            optimizer.zero_grad()  # expect: AMP212 likely
            helper.backward(model(batch).mean())
            optimizer.step()


class Trainer:
    def __init__(self, model, optimizer):
        self.acc = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=8)
        self.model, self.optimizer = self.acc.prepare(model, optimizer)

    def step(self, batch):
        with self.acc.accumulate(self.model), self.acc.autocast():
            loss = self.model(batch).mean()
            self.optimizer.zero_grad(set_to_none=True)  # expect: AMP212
            self.acc.backward(loss)
            if self.acc.sync_gradients:
                self.acc.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
