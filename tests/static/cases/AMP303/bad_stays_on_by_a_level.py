import torch


def pretrain(config, model, batches, optimizer):
    scaler = torch.amp.GradScaler("cuda")  # expect: AMP303 likely
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=config.AMP_LEVEL > 0):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def finetune(precision, verbose, model, batches, optimizer):
    scaler = torch.amp.GradScaler("cuda")  # expect: AMP303 likely
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=precision == 16 and not verbose):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
