"""Two settings, or one word for both: nothing keeps the scaler from the bfloat16 weights."""

import torch


def two_settings(net, rows, loss_fn, options):
    if options["weights"] == "bf16":
        net.to(torch.bfloat16)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda") if options["precision"] == "amp" else None
    for row, target in rows:
        loss = loss_fn(net(row), target)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(sgd)  # expect: AMP705 likely
            scaler.update()


def one_word_for_both(net, rows, loss_fn, options):
    if options["precision"] in ("bf16", "mixed"):
        net.to(torch.bfloat16)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda") if options["precision"] == "mixed" else None
    for row, target in rows:
        loss = loss_fn(net(row), target)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(sgd)  # expect: AMP705 likely
            scaler.update()
