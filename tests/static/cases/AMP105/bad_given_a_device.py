import torch


def generate(load, prompts):
    model = load("name").to("cuda")
    with torch.autocast(model.device, torch.float16):  # expect: AMP105 likely
        return model.generate(prompts)


def evaluate(model, batches):
    device = torch.device("cuda")
    for inputs, _ in batches:
        with torch.autocast(device_type=device, dtype=torch.bfloat16):  # expect: AMP105
            model(inputs.to(device))
