import deepspeed
import torch


def train(net, probe, data):
    engine, opt, _, schedule = deepspeed.initialize(model=net, config={"train_batch_size": 8})
    own = torch.optim.SGD(probe.parameters(), lr=0.1)
    for x, y in data:
        loss = engine(x, y)
        engine.backward(loss)
        engine.step()
        probe(x).mean().backward()
        own.step()
