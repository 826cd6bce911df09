from accelerate import Accelerator


def train(accelerator: Accelerator, model, optimizer, batches):
    """Nothing in sight makes the Accelerator: it may accumulate one batch at a time."""
    for inputs in batches:
        with accelerator.accumulate(model):
            optimizer.zero_grad()
            accelerator.backward(model(inputs).loss)
            optimizer.step()
