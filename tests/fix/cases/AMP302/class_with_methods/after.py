import io

import torch


class Trainer:
    def __init__(self, model, loss_fn, optimizer, device):
        self.model, self.loss_fn, self.optimizer, self.device = model, loss_fn, optimizer, device
        self.scaler = torch.amp.GradScaler(device, init_scale=1024.0, growth_interval=3)

    def run(self, batches):
        for inputs, targets in batches:
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast(self.device, dtype=torch.float16):
                loss = self.loss_fn(self.model(inputs), targets)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def save(self, file):
        state = {
            "model_state_dict": self.model.state_dict(),
            "optimizer_state_dict": self.optimizer.state_dict(),  # with its moments
            "scaler_state_dict": self.scaler.state_dict()
            # nothing else
        }
        torch.save(state, file)

    def load(self, file):
        checkpoint = torch.load(file)
        self.model.load_state_dict(checkpoint["model_state_dict"])
        self.optimizer.load_state_dict(checkpoint["optimizer_state_dict"])  # moments
        if checkpoint.get("scaler_state_dict"):
            self.scaler.load_state_dict(checkpoint["scaler_state_dict"])
        # from here on it goes as before


def train(model, loss_fn, optimizer, scaler, batches, device):
    file = io.BytesIO()
    trainer = Trainer(model, loss_fn, optimizer, device)
    trainer.run(batches)
    trainer.save(file)
    file.seek(0)
    trainer = Trainer(model, loss_fn, optimizer, device)
    trainer.load(file)
    trainer.run(batches)
    return trainer.scaler.get_scale()
