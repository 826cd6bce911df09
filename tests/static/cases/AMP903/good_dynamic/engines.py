import deepspeed


class Engines:
    def __init__(self, path="ds.json"):
        self.path = path

    def make(self, net):
        parameters = [each for each in net.parameters() if each.requires_grad]
        engine, *_ = deepspeed.initialize(model=net, model_parameters=parameters, config="ds.json")
        return engine


def off(net):
    config = {"fp16": {"enabled": False, "loss_scale": 128}, "bf16": {"enabled": True}}
    return deepspeed.initialize(model=net, config=config)


def unknown(net, scale):
    return deepspeed.initialize(model=net, config={"fp16": {"enabled": True, "loss_scale": scale}})
