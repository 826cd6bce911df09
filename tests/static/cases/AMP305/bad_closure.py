import torch


def train(model, optimizer, loss_fn, batches, amp):
    for inputs, targets in batches:

        def closure(inputs=inputs, targets=targets):
            model.zero_grad()
            if amp:
                with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP305
                    loss = loss_fn(model(inputs), targets)
            else:
                loss = loss_fn(model(inputs), targets)
            loss.backward()
            return loss

        optimizer.step(closure)
