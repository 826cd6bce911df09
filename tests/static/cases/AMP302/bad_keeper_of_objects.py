import torch


class CheckpointIO:
    """Keeps the states of whatever it is given."""

    def __init__(self, path, **objects):
        self.path = path
        self.objects = objects

    def save(self, epoch):
        states = {name: each.state_dict() for name, each in self.objects.items()}
        torch.save({**states, "epoch": epoch}, self.path)

    def load(self):
        states = torch.load(self.path)
        for name, each in self.objects.items():
            each.load_state_dict(states[name])
        return states["epoch"]


def train(model, loss_fn, batches, epochs):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    keeper = CheckpointIO("last.pt", model=model, optimizer=optimizer)  # expect: AMP302 likely
    for epoch in range(keeper.load(), epochs):
        for inputs, targets in batches:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = loss_fn(model(inputs), targets)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        keeper.save(epoch)
