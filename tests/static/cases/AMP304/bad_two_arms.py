import torch


class Scaler:
    """Always on."""

    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer):
        self._scaler.scale(loss).backward()
        self._scaler.step(optimizer)
        self._scaler.update()


def train(model, optimizer, scaler, batches, args):
    for inputs in batches:
        optimizer.zero_grad()
        if args.bf16:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(inputs)
        else:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(inputs)
        scaler(loss, optimizer)


def main(model, optimizer, batches, args):
    train(model, optimizer, Scaler(), batches, args)  # expect: AMP304 likely
