import io

import torch


class Trainer:
    def __init__(self, model, loss_fn, optimizer, device):
        self.model, self.loss_fn, self.optimizer, self.device = model, loss_fn, optimizer, device
        self._scaler: torch.amp.GradScaler = torch.amp.GradScaler(device, init_scale=1024.0, growth_interval=3)

    def run(self, batches):
        for inputs, targets in batches:
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast(self.device, dtype=torch.float16):
                loss = self.loss_fn(self.model(inputs), targets)
            self._scaler.scale(loss).backward()
            self._scaler.step(self.optimizer)
            self._scaler.update()

    def state_dict(self):
        return dict(
            model=self.model.state_dict(),
            optimizer=self.optimizer.state_dict(),  # moments
            scaler=self._scaler.state_dict(),
        )

    def load_state_dict(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        if state.get("scaler"):
            self._scaler.load_state_dict(state["scaler"])


def train(model, loss_fn, optimizer, scaler, batches, device):
    file = io.BytesIO()
    trainer = Trainer(model, loss_fn, optimizer, device)
    trainer.run(batches)
    torch.save(trainer.state_dict(), file)
    file.seek(0)
    trainer = Trainer(model, loss_fn, optimizer, device)
    trainer.load_state_dict(torch.load(file))
    trainer.run(batches)
    return trainer._scaler.get_scale()
