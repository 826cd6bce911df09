import torch
from torch import nn


def main():
    generator, critic = nn.Linear(4, 6), nn.Linear(6, 1)
    opt_g = torch.optim.Adam(generator.parameters(), lr=0.01)
    opt_d = torch.optim.Adam(critic.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cuda")
    bce = nn.functional.binary_cross_entropy_with_logits
    for _ in range(6):
        real, noise = torch.randn(8, 6), torch.randn(8, 4)
        opt_g.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            fake = generator(noise)
            loss_g = bce(critic(fake), torch.ones(8, 1))
        scaler.scale(loss_g).backward()
        scaler.unscale_(opt_g)
        nn.utils.clip_grad_norm_(generator.parameters(), 1.0)
        scaler.step(opt_g)

        opt_d.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss_d = bce(critic(real), torch.ones(8, 1)) + bce(critic(fake.detach()), torch.zeros(8, 1))
        scaler.scale(loss_d).backward()
        scaler.unscale_(opt_d)
        nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
        scaler.step(opt_d)
        scaler.update()


if __name__ == "__main__":
    main()
