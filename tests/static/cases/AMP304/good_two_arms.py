import torch


class Scaler:
    def __init__(self, enabled):
        self._scaler = torch.amp.GradScaler("cuda", enabled=enabled)

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
    train(model, optimizer, Scaler(not args.bf16), batches, args)
