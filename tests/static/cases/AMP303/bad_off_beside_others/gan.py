"""The generator's step is out of autocast, the discriminator's is not."""

import torch

from losses import adversarial


def train(generator, discriminator, optimizers, batches):
    scaler = torch.amp.GradScaler("cuda")
    for real, noise in batches:
        with torch.autocast("cuda", enabled=False):  # expect: AMP303 likely
            fake = generator(noise)
            realness = adversarial(discriminator(fake), 1.0)
            loss_g = realness.mean()
        scaler.scale(loss_g).backward()
        scaler.step(optimizers[0])
        optimizers[0].zero_grad()

        with torch.autocast("cuda"):
            realness = adversarial(discriminator(real), 1.0)
            loss_d = realness + adversarial(discriminator(fake.detach()), 0.0)
        scaler.scale(loss_d).backward()
        scaler.step(optimizers[1])
        optimizers[1].zero_grad()
        scaler.update()
        print([noise.item() for noise in (loss_g, loss_d)])
