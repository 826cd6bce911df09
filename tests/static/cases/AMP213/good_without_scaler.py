import torch


def apart(model, batches, optimizer, epoch, scaler=None):
    scheduler = None
    if epoch == 0:
        scheduler = torch.optim.lr_scheduler.LinearLR(optimizer)
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
        if scheduler is not None and scaler is None:
            scheduler.step()


def told_by_a_switch(model, batches, optimizer, use_amp):
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer)
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch)
        if use_amp:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
        if not use_amp:
            scheduler.step()


def leaves_before(model, batches, optimizer, scheduler, use_amp):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch)
        if use_amp:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            continue
        loss.backward()
        optimizer.step()
        scheduler.step()
