"""Each iteration has an optimizer of its own, whatever its key is worked out of; one update for all of them."""

import torch


class Critics:
    def __init__(self, critics, optimizers, axes):
        self.critics, self.optimizers, self.axes = critics, optimizers, axes
        self.scaler = torch.amp.GradScaler("cuda")

    def turn(self, batches):
        for axis in self.axes:
            name = f"axis-{axis}"
            chosen = self.optimizers[name]
            chosen.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.critics[name](batches[axis]).mean()
            self.scaler.scale(loss).backward()
            self.scaler.step(chosen)
        self.scaler.update()


def by_constant_keys(actor, critic, batches):
    tools = {"actor": torch.optim.Adam(actor.parameters()), "critic": torch.optim.Adam(critic.parameters())}
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        for each in tools.values():
            each.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = actor(batch).mean() + critic(batch).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(tools["actor"])
        torch.nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
        for key in tools:
            scaler.step(tools[key])
        scaler.update()
