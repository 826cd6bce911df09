import deepspeed


def train(net, data):
    settings = {"train_batch_size": 8, "fp16": {"enabled": True}}
    engine, _, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=settings)
    for x, y in data:
        loss = engine(x, y)
        loss.backward()  # expect: AMP601
        engine.step()


def by_a_file(net, data, path):
    engine, *_ = deepspeed.initialize(model=net, config=path)
    for x, y in data:
        loss = engine(x, y)
        engine.backward(loss)
        engine.step()
