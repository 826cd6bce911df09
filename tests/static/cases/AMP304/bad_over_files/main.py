from functools import partial

import torch
from engine import one_epoch
from wrapper import LossScaler


def main(model, optimizer, batches, args):
    precision = torch.bfloat16 if args.amp_dtype == "bfloat16" else torch.float16
    context = partial(torch.autocast, device_type="cuda", dtype=precision)
    loss_scaler = LossScaler()  # expect: AMP304 likely
    for _ in range(args.epochs):
        one_epoch(model, optimizer, batches, context, loss_scaler)
