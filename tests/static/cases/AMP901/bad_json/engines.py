import deepspeed


class Engines:
    def __init__(self, path="settings/stage2.json"):
        self.path = path

    def make(self, net):
        parameters = [each for each in net.parameters() if each.requires_grad]
        engine, *_ = deepspeed.initialize(model=net, model_parameters=parameters, config="settings/stage2.json")
        return engine
