import torch


def train(model, optimizer, batches, log):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        big = scaler.scale(loss) if log else loss
        big.backward()
        scaler.step(optimizer)
        scaler.update()
        now = scaler.get_scale()
        log(big.detach() / now)  # expect: AMP204 likely


class Unit:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def detached(self, batch):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(batch).mean()
        loss = self.scaler.scale(loss)
        loss.backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.data, len(batch)  # expect: AMP204 likely
