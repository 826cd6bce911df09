import torch


def step(box, loss):
    if box.accelerator is not None:
        box.accelerator.backward(loss)
    else:
        loss.backward()
    torch.nn.utils.clip_grad_norm_(box.model.parameters(), 1.0)  # expect: AMP201 likely
    box.optimizer.step()
    box.optimizer.zero_grad()
