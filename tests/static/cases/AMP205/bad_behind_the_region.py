import torch


def penalty(critic, mixed, weight):
    with torch.autocast("cuda"):
        scores = critic(mixed)
    (slope,) = torch.autograd.grad(outputs=scores.sum(), inputs=mixed, create_graph=True)  # expect: AMP205
    return weight * (slope.flatten(1).norm(dim=1) - 1).square().mean()


def step(critic, optimizer, real, fake, scaler: torch.amp.GradScaler):
    with torch.autocast("cuda"):
        loss = critic(fake).mean() - critic(real).mean()
    mixed = (0.5 * real + 0.5 * fake).requires_grad_()
    optimizer.zero_grad()
    scaler.scale(loss + penalty(critic, mixed, 10.0)).backward()
    scaler.step(optimizer)
    scaler.update()
