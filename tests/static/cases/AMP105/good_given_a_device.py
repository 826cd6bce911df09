import torch


def generate(args, model, prompts):
    with torch.autocast(args.device, dtype=torch.float16):
        return model.generate(prompts)


def evaluate(model, batches):
    device = torch.device("cuda")
    for inputs, _ in batches:
        with torch.autocast(device_type=device.type, dtype=torch.bfloat16):
            model(inputs.to(device))
        with torch.autocast(model.device.type, dtype=torch.bfloat16):
            model(inputs.to(device))


class Runner:
    def __init__(self, device: str):
        self.device = device

    def run(self, inputs):
        with torch.autocast(self.device, dtype=torch.bfloat16):
            return inputs
