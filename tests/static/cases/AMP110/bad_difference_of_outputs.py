"""What two outputs differ by is half as they are: the relative score of a discriminator."""

import torch


def train(generator, discriminator, criterion, optimizer, scaler, batches):
    for low, high, real, fake in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            of_real = discriminator(high)
            of_fake = discriminator(generator(low))
        loss = criterion(of_fake - torch.mean(of_real), real)  # expect: AMP110 likely
        loss_other = criterion(of_real - of_fake.mean(), fake)  # expect: AMP110 likely
        scaler.scale(loss + loss_other).backward()
        scaler.step(optimizer)
        scaler.update()
