"""The gradients are divided by a scale that nothing has put into them."""

import torch


def penalty(inputs, outputs, scaler=None):
    (slopes,) = torch.autograd.grad(  # expect: AMP205 likely
        outputs=outputs, inputs=inputs, grad_outputs=torch.ones_like(outputs), create_graph=True
    )
    if scaler is not None:
        scale = scaler.get_scale()
        inverse = 1.0 / max(scale, 1e-6)
        slopes = slopes * inverse
    return (slopes.flatten(1).norm(2, dim=1) - 1).square().mean()


def train(judge, optimizer, scaler, images):
    images.requires_grad_(True)
    with torch.autocast("cuda", dtype=torch.float16):
        outputs = judge(images)
        loss = outputs.mean()
    loss = loss + penalty(images, outputs, scaler)
    optimizer.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
