"""Another optimizer steps in every turn, but behind a backward of its own, or not in every turn at all."""

import torch


def train(model, head, batches, scaler, every):
    optimizer = torch.optim.Adam(model.parameters())
    head_optimizer = torch.optim.Adam(head.parameters())
    for number, (inputs, targets) in enumerate(batches, 1):
        head_optimizer.zero_grad()
        with torch.autocast("cuda"):
            features = model(inputs)
            head_loss = torch.nn.functional.mse_loss(head(features.detach()), targets)
        scaler.scale(head_loss).backward()
        scaler.step(head_optimizer)
        with torch.autocast("cuda"):
            loss = torch.nn.functional.mse_loss(features, inputs)
        scaler.scale(loss).backward()  # expect: AMP216 likely
        if number % every == 0:
            scaler.step(optimizer)
            optimizer.zero_grad()
        scaler.update()


def train_in_stages(model, head, batches, scaler, every, warm):
    optimizer = torch.optim.Adam(model.parameters())
    head_optimizer = torch.optim.Adam(head.parameters())
    for number, (inputs, targets) in enumerate(batches, 1):
        with torch.autocast("cuda"):
            loss = torch.nn.functional.mse_loss(head(model(inputs)), targets)
        scaler.scale(loss).backward()  # expect: AMP216 likely
        if warm:
            scaler.step(head_optimizer)
            head_optimizer.zero_grad()
        if number % every == 0:
            scaler.step(optimizer)
            optimizer.zero_grad()
        scaler.update()


def train_twice(model, batches, scaler, every):
    optimizer = torch.optim.Adam(model.parameters())
    for number, (inputs, targets) in enumerate(batches):
        if number and number % every == 0:  # expect: AMP216 likely
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
        scaler.scale(loss).backward()  # expect: AMP216 likely
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            fine = torch.nn.functional.mse_loss(model(inputs), targets)
        scaler.scale(fine).backward()
        scaler.step(optimizer)
        scaler.update()
