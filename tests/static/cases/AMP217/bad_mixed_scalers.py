import torch
from torch.amp import GradScaler, autocast


def adversarial(loader, generator, critic, loss_fn):
    critic_optimizer = torch.optim.Adam(critic.parameters())
    generator_optimizer = torch.optim.Adam(generator.parameters())
    critic_scaler = GradScaler("cuda")
    generator_scaler = GradScaler("cuda")
    for real, noise in loader:
        critic_optimizer.zero_grad(set_to_none=True)
        with autocast("cuda"):
            made = generator(noise)
            critic_loss = loss_fn(critic(real), 1) + loss_fn(critic(made.detach()), 0)
        critic_scaler.scale(critic_loss).backward()
        critic_scaler.step(critic_optimizer)
        critic_scaler.update()

        generator_optimizer.zero_grad(set_to_none=True)
        with autocast("cuda"):
            generator_loss = loss_fn(critic(made), 1)
        critic_scaler.scale(generator_loss).backward()
        generator_scaler.step(generator_optimizer)  # expect: AMP217
        generator_scaler.update()


class Adversary:
    def __init__(self, generator, critic, use_amp):
        self.generator, self.critic, self.use_amp = generator, critic, use_amp
        self.opt_g = torch.optim.Adam(generator.parameters())
        self.opt_c = torch.optim.Adam(critic.parameters())
        self.scaler_g = GradScaler("cuda", enabled=use_amp)
        self.scaler_c = GradScaler("cuda", enabled=use_amp)

    def critic_step(self, real, noise):
        self.opt_c.zero_grad(set_to_none=True)
        with autocast("cuda", torch.float16, enabled=self.use_amp):
            loss = self.critic(self.generator(noise).detach()).mean() - self.critic(real).mean()
        loss = self.scaler_g.scale(loss)
        loss.backward()
        self.scaler_c.unscale_(self.opt_c)  # expect: AMP217
        torch.nn.utils.clip_grad_norm_(self.critic.parameters(), 1.0)
        self.scaler_c.step(self.opt_c)
        self.scaler_c.update()

    def generator_step(self, noise):
        self.opt_g.zero_grad(set_to_none=True)
        with autocast("cuda", torch.float16, enabled=self.use_amp):
            loss = -self.critic(self.generator(noise)).mean()
        self.scaler_g.scale(loss).backward()
        self.scaler_g.step(self.opt_g)
        self.scaler_g.update()

    def fit(self, loader):
        for real, noise in loader:
            self.critic_step(real, noise)
            self.generator_step(noise)


def handed_in(real, noise, critic, critic_optimizer, scaler_c, scaler_g):
    critic_optimizer.zero_grad(set_to_none=True)
    with autocast("cuda", torch.float16):
        loss = critic(noise).mean() - critic(real).mean()
    scaler_g.scale(loss).backward()
    scaler_c.step(critic_optimizer)  # expect: AMP217 likely
    scaler_c.update()


def of_a_type(real, noise, critic, critic_optimizer, scaler_c: GradScaler, scaler_g: GradScaler):
    critic_optimizer.zero_grad(set_to_none=True)
    with autocast("cuda", torch.float16):
        loss = critic(noise).mean() - critic(real).mean()
    scaler_g.scale(loss).backward()
    scaler_c.step(critic_optimizer)  # expect: AMP217 likely
    scaler_c.update()
