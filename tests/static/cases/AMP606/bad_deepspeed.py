import deepspeed


def train(net, data):
    engine, _, _, _ = deepspeed.initialize(model=net, config="settings.json")
    for x, y in data:
        loss = engine(x, y)
        engine.backward(loss / engine.gradient_accumulation_steps())  # expect: AMP606
        engine.step()
