import deepspeed
import torch


def main(net, loss_fn, batches):
    engine, optimizer, _, _ = deepspeed.initialize(
        model=net, model_parameters=net.parameters(), config="ds_config.json"
    )
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.bfloat16):  # expect: AMP614 likely
            loss = loss_fn(engine(inputs), targets)
        engine.backward(loss)
        engine.step()


def written_out(net, loss_fn, batches):
    settings = {"train_batch_size": 8, "bf16": {"enabled": True}}
    engine, _, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=settings)
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP614 likely
            loss = loss_fn(engine(inputs), targets)
        engine.backward(loss)
        engine.step()
