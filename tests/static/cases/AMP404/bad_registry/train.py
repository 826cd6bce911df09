import torch
from models import build


def main(batches, args):
    model = build(args.name)
    for batch in batches:
        with torch.cuda.amp.autocast(enabled=args.amp):
            loss = model(batch)
        loss.backward()
