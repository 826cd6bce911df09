import deepspeed
import torch


def train(net, data):
    settings = {"bf16": {"enabled": True}, "train_batch_size": 4}
    engine, _, _, _ = deepspeed.initialize(model=net, config=settings)
    for x, y in data:
        engine.backward(engine(x, y))
        torch.nn.utils.clip_grad_norm_(engine.parameters(), 1.0)
        engine.step()


def settings_clip(net, data):
    settings = {"fp16": {"enabled": True}, "gradient_clipping": 1.0}
    engine, _, _, _ = deepspeed.initialize(model=net, config=settings)
    for x, y in data:
        engine.backward(engine(x, y))
        engine.step()
