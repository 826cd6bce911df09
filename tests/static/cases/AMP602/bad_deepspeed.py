import deepspeed


def train(net, data):
    engine, opt, _, _ = deepspeed.initialize(model=net, config={"train_batch_size": 8, "bf16": {"enabled": True}})
    for x, y in data:
        engine.backward(engine(x, y))
        opt.step()  # expect: AMP602
