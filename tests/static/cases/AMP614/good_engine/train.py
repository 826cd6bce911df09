import deepspeed
import torch


def main(net, loss_fn, batches):
    engine, optimizer, _, _ = deepspeed.initialize(
        model=net, model_parameters=net.parameters(), config="ds_config.json"
    )
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(engine(inputs), targets)
        engine.backward(loss)
        engine.step()


def evaluate(net, loss_fn, batches):
    settings = {"train_batch_size": 8, "bf16": {"enabled": True}}
    engine, _, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=settings)
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
        return [loss_fn(engine(inputs), targets) for inputs, targets in batches]
