import torch


def attack(model, optimizer, loss_fn, batches):
    """Measures gradients, and steps by another closure."""
    for inputs, targets in batches:

        def measured():
            with torch.autocast("cuda", dtype=torch.float16):
                loss = loss_fn(model(inputs), targets)
            loss.backward()
            return inputs.grad.norm()

        def closure():
            loss = loss_fn(model(inputs), targets)
            loss.backward()
            return loss

        print(measured())
        optimizer.step(closure)
