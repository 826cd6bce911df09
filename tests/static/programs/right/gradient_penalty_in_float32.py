import torch
from torch import nn


class Penalty(nn.Module):
    def __init__(self, critic):
        super().__init__()
        self.critic = critic

    @torch.autocast("cuda", enabled=False)
    def forward(self, real, fake):
        mix = torch.lerp(real.float(), fake.float(), torch.rand(len(real), 1)).requires_grad_(True)
        out = self.critic(mix)
        grad = torch.autograd.grad(out.sum(), mix, create_graph=True)[0]
        return (grad.norm(2, dim=1) - 1).square().mean()


def main():
    critic = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    penalty = Penalty(critic)
    optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(5):
        real, fake = torch.randn(8, 6), torch.randn(8, 6)
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = critic(fake).float().mean() - critic(real).float().mean()
        loss = loss + 10 * penalty(real, fake)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    main()
