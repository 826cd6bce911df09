import torch
from lightning.pytorch import LightningModule, Trainer


class Adversary(LightningModule):
    def __init__(self, generator, critic):
        super().__init__()
        self.automatic_optimization = False
        self.generator, self.critic = generator, critic

    def training_step(self, batch):
        first, second = self.optimizers()
        self.manual_backward(self.critic(batch).mean())
        torch.nn.utils.clip_grad_norm_(self.critic.parameters(), 1.0)  # expect: AMP201 likely
        first.step()
        first.zero_grad()
        self.manual_backward(self.generator(batch).mean())
        self.clip_gradients(second, gradient_clip_val=0.5, gradient_clip_algorithm="norm")  # expect: AMP201 likely
        second.step()
        second.zero_grad()

    def on_after_backward(self):
        torch.nn.utils.clip_grad_value_(self.parameters(), 0.1)  # expect: AMP201 likely


def train(generator, critic, batches):
    Trainer(precision="16-mixed").fit(Adversary(generator, critic), batches)
