import torch
from accelerate import Accelerator
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


def in_place(net, average, optimizer, batches):
    accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=4)
    net, optimizer, batches = accelerator.prepare(net, optimizer, batches)
    for batch in batches:
        with accelerator.accumulate(net):
            accelerator.backward(net(batch).mean())
            optimizer.step()
            optimizer.zero_grad()
            with torch.no_grad():
                for old, new in zip(average.parameters(), net.parameters(), strict=True):
                    old.lerp_(new, 0.001)  # expect: AMP615 likely


def by_torch(net, optimizer, batches, steps):
    accelerator = Accelerator(gradient_accumulation_steps=steps)
    net, optimizer, batches = accelerator.prepare(net, optimizer, batches)
    average = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.999))
    for batch in batches:
        with accelerator.accumulate(net):
            accelerator.backward(net(batch).mean())
            optimizer.step()
            optimizer.zero_grad()
        average.update_parameters(net)  # expect: AMP615 likely


@torch.no_grad()
def follow(average, net, decay):
    for old, new in zip(average.parameters(), net.parameters(), strict=True):
        old.mul_(decay).add_(new, alpha=1 - decay)


def by_a_function(net, average, optimizer, batches, accelerator: Accelerator):
    for batch in batches:
        with accelerator.accumulate(net):
            accelerator.backward(net(batch).mean())
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            if average is not None:
                follow(average, net, 0.999)  # expect: AMP615 likely


def main(net, average, optimizer, batches):
    accelerator = Accelerator(gradient_accumulation_steps=8)
    net, optimizer, batches = accelerator.prepare(net, optimizer, batches)
    by_a_function(net, average, optimizer, batches, accelerator)
