import torch


class Trainer:
    """What is kept stands in a list of names, and so it is loaded: the scaler is not in it."""

    KEPT = ("model", "optimizer")

    def __init__(self, model, optimizer, loss_fn):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.scaler = torch.amp.GradScaler("cuda")

    def save(self, path):
        torch.save({name: getattr(self, name).state_dict() for name in self.KEPT}, path)  # expect: AMP302

    def load(self, path):
        for name, state in torch.load(path).items():
            getattr(self, name).load_state_dict(state)

    def fit(self, batches):
        for inputs, targets in batches:
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.loss_fn(self.model(inputs), targets)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
