"""Each state goes to a file of its own, through a function of the project or as one of several arguments."""

import torch


class Engine:
    def __init__(self, model, folder):
        self.model, self.folder = model, folder
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, inputs):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(inputs).mean()
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def save_checkpoint(self):
        def save_state(state, name):
            torch.save(state, self.folder / f"{name}.pt")

        save_state(self.model.state_dict(), "model")
        save_state(self.optimizer.state_dict(), "optimizer")  # expect: AMP302

    def load_checkpoint(self):
        self.model.load_state_dict(torch.load(self.folder / "model.pt"))
        self.optimizer.load_state_dict(torch.load(self.folder / "optimizer.pt"))


def save_all(model_state, optimizer_state, path):
    torch.save((model_state, optimizer_state), path)


def main(model, batches, path):
    engine = Engine(model, path)
    for inputs in batches:
        engine.step(inputs)
    save_all(model.state_dict(), engine.optimizer.state_dict(), path)  # expect: AMP302
