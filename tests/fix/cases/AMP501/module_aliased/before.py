import torch.cpu.amp as half
import torch as th


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with half.autocast(dtype=th.float16):
            loss = loss_fn(model(inputs), targets)
        with th.cpu.amp.autocast(enabled=True, dtype=th.bfloat16):
            loss = loss + loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
