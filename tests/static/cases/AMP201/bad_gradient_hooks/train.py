import torch

from clipping import clip_by_a_function, clip_in_backward, clip_where_it_gathers, halve, keep_positive


def train(model, loss_fn, optimizer, batches):
    clip_in_backward(model, 0.1)
    clip_by_a_function(model, 0.1)
    clip_where_it_gathers(model)
    keep_positive(model)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            outputs = model(inputs)
            halve(outputs)
            loss = loss_fn(outputs, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    train(*torch.load("everything.pt"))
