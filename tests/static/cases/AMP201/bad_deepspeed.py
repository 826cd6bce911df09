import deepspeed
import torch


def train(net, data):
    settings = {"fp16": {"enabled": True}, "train_batch_size": 4}
    engine, _, _, _ = deepspeed.initialize(model=net, config=settings)
    for x, y in data:
        loss = engine(x, y)
        engine.backward(loss)
        torch.nn.utils.clip_grad_norm_(engine.parameters(), 1.0)  # expect: AMP201 likely
        engine.step()
