"""Norms of the gradients of optimizers that have not been unscaled, by ways that are hard to follow."""

import torch


class Trainer:
    def __init__(self, model, config):
        self.model = model
        self.config = config
        self.optimizers = [torch.optim.SGD(part.parameters(), lr=0.1) for part in model.parts]
        self.scaler = torch.amp.GradScaler("cuda")

    @property
    def delegated(self):
        return self.config.delegated

    def norm(self, optimizer):
        gradients = [p.grad.view(-1) for group in optimizer.param_groups for p in group["params"]]
        return torch.norm(torch.cat([gradient.grad for gradient in gradients]))  # expect: AMP204

    def clip(self, optimizer):
        if self.config.limit > 0:
            self.scaler.unscale_(optimizer)
            return torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], self.config.limit)
        return self.norm(optimizer)

    def train_step(self, batch):
        started = batch
        try:
            self.model.optimize(started)
        except NotImplementedError:
            for index, optimizer in enumerate(self.optimizers):
                if self.delegated:
                    self.model(batch, index).backward()
                    optimizer.step()
                else:
                    self.scaler.scale(self.model(batch, index)).backward()
                    print(self.clip(optimizer))
                    self.scaler.step(optimizer)
                    if index + 1 == len(self.optimizers):
                        self.scaler.update()
                optimizer.zero_grad()

    def train(self, batches):
        for batch in batches:
            self.train_step(batch)


class Groups:
    def __init__(self, parts):
        self.optimizers = {name: torch.optim.Adam(part.parameters()) for name, part in parts.items()}

    def step(self, scaler, names):
        for name in names:
            scaler.step(self.optimizers[name])


def while_some_still_gather(model, parts, batches, windows):
    groups = Groups(parts)
    scaler = torch.amp.GradScaler("cuda")
    for turn, batch in enumerate(batches):
        scaler.scale(model(batch)).backward()
        groups.step(scaler, [name for name in windows if (turn + 1) % windows[name] == 0])
        for name, p in model.named_parameters():
            print(name, p.grad.norm())  # expect: AMP204
        scaler.update()
