import deepspeed


class Engines:
    def __init__(self, path="ds.yaml"):
        self.path = path

    def make(self, net):
        parameters = [each for each in net.parameters() if each.requires_grad]
        engine, *_ = deepspeed.initialize(model=net, model_parameters=parameters, config="ds.yaml")
        return engine


def fixed(net):
    config = {"fp16": {"enabled": True, "loss_scale": 128}}  # expect: AMP903
    return deepspeed.initialize(model=net, config=config)


def perhaps():
    import transformers

    config = {"fp16": {"enabled": "auto", "loss_scale": 1.0}}  # expect: AMP903 likely
    return transformers.TrainingArguments("out", deepspeed=config)
