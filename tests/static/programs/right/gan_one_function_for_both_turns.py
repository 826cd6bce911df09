import torch
from torch import nn


class Adversary:
    def __init__(self):
        self.models = nn.ModuleDict({"G": nn.Linear(4, 6), "D": nn.Linear(6, 1)})
        self.opts = {name: torch.optim.Adam(net.parameters(), lr=0.01) for name, net in self.models.items()}
        self.scaler = torch.amp.GradScaler("cuda")

    def loss(self, name, real, noise):
        critic, generator = self.models["D"], self.models["G"]
        if name == "D":
            with torch.no_grad():
                fake = generator(noise)
            return nn.functional.softplus(-critic(real)).mean() + nn.functional.softplus(critic(fake)).mean()
        return nn.functional.softplus(-critic(generator(noise))).mean()

    def turn(self, name, real, noise):
        opt = self.opts[name]
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.loss(name, real, noise)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(self.models[name].parameters(), 1.0)
        self.scaler.step(opt)


def main():
    pair = Adversary()
    for _ in range(5):
        real, noise = torch.randn(8, 6), torch.randn(8, 4)
        pair.turn("D", real, noise)
        pair.turn("G", real, noise)
        pair.scaler.update()


if __name__ == "__main__":
    main()
