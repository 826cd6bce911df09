import torch


def penalty(critic, mixed, weight, scaler):
    with torch.autocast("cuda"):
        scores = critic(mixed)
    (slope,) = torch.autograd.grad(outputs=scaler.scale(scores.sum()), inputs=mixed, create_graph=True)
    slope = slope / scaler.get_scale()
    return weight * (slope.flatten(1).norm(dim=1) - 1).square().mean()


def in_full(critic, mixed, weight):
    """The outputs are made behind the region."""
    with torch.autocast("cuda"):
        print(critic(mixed).mean())
    scores = critic(mixed)
    (slope,) = torch.autograd.grad(outputs=scores.sum(), inputs=mixed, create_graph=True)
    return weight * (slope.flatten(1).norm(dim=1) - 1).square().mean()


def in_brain_float(critic, mixed, weight):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        scores = critic(mixed)
    (slope,) = torch.autograd.grad(outputs=scores.sum(), inputs=mixed, create_graph=True)
    return weight * (slope.flatten(1).norm(dim=1) - 1).square().mean()


def either(critic, mixed, weight, half):
    if half:
        with torch.autocast("cuda"):
            scores = critic(mixed)
    else:
        scores = critic(mixed)
    (slope,) = torch.autograd.grad(outputs=scores.sum(), inputs=mixed, create_graph=True)
    return weight * (slope.flatten(1).norm(dim=1) - 1).square().mean()


def step(critic, optimizer, real, fake, scaler: torch.amp.GradScaler):
    with torch.autocast("cuda"):
        loss = critic(fake).mean() - critic(real).mean()
    mixed = (0.5 * real + 0.5 * fake).requires_grad_()
    loss = loss + penalty(critic, mixed, 10.0, scaler) + in_full(critic, mixed, 10.0)
    loss = loss + in_brain_float(critic, mixed, 10.0) + either(critic, mixed, 10.0, True)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
