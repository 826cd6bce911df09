import torch
from torch.amp import GradScaler


class Adversary:
    def __init__(self, generator, critic):
        self.generator, self.critic = generator, critic
        self.opt_g = torch.optim.Adam(generator.parameters())
        self.opt_c = torch.optim.Adam(critic.parameters())
        self.scaler_g = GradScaler("cuda")
        self.scaler_c = GradScaler("cuda")

    def backward_adversarial(self, loss):
        self.scaler_g.scale(loss).backward()

    def step(self, noise, kind):
        self.opt_g.zero_grad(set_to_none=True)
        self.opt_c.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.float16):
            made = self.generator(noise)
            critic_loss = self.critic(made.detach()).mean()
        self.scaler_c.scale(critic_loss).backward()
        self.scaler_c.step(self.opt_c)
        self.scaler_c.update()
        with torch.autocast("cuda", torch.float16):
            loss = -self.critic(made).mean()
        getattr(self, f"backward_{kind}")(loss)
        self.scaler_g.step(self.opt_g)
        self.scaler_g.update()
