import torch
from parts import make_parts


def train(net, batches):
    model, optimizer = make_parts(net)
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch).mean()).backward()
        scaler.step(optimizer)
        scaler.update()


def train_sharded(net, batches):
    model, optimizer = make_parts(net, shard=True)
    for batch in batches:
        optimizer.zero_grad()
        model(batch).mean().backward()
        model.clip_grad_norm_(1.0)
        optimizer.step()
