"""Steps under conditions on the counter of a loop that together cover all of its values."""

import torch


def warm_up_in_the_first_epoch(model, optimizer, epochs, batches):
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        for batch in batches:
            optimizer.zero_grad()
            scaler.scale(model(batch)).backward()
            if epoch == 0:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
                scaler.step(optimizer)
            if epoch > 0:
                scaler.step(optimizer)
            scaler.update()


def the_head_first(body, head, epochs, batch):
    opt_body, opt_head = torch.optim.AdamW(body.parameters()), torch.optim.AdamW(head.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(1, epochs + 1):
        opt_body.zero_grad()
        opt_head.zero_grad()
        scaler.scale(head(body(batch)).mean()).backward()
        if epoch == 1:
            scaler.step(opt_head)
        elif epoch >= 2:
            scaler.step(opt_body)
        scaler.update()


def counted_from_one(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for number, batch in enumerate(batches, start=1):
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        if number != 0:
            scaler.step(optimizer)
        scaler.update()


def by_its_truth(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for number, batch in enumerate(batches):
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        if number:
            scaler.step(optimizer)
        if 1 > number:
            scaler.step(optimizer)
        scaler.update()


def below_and_from_a_limit(model, optimizer, epochs, batches, limit):
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        for batch in batches:
            optimizer.zero_grad()
            scaler.scale(model(batch)).backward()
            if epoch <= limit:
                scaler.step(optimizer)
            if limit < epoch:
                scaler.unscale_(optimizer)
                scaler.step(optimizer)
            scaler.update()
