import torch


def whole_epoch(model, optimizer, batches, scaler):
    window = len(batches)
    for _ in range(3):
        optimizer.zero_grad()
        for number, (inputs, targets) in enumerate(batches):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(model(inputs), targets)
            scaler.scale(loss / window).backward()
            if (number + 1) % window == 0:
                scaler.step(optimizer)
                scaler.update()


def window_by_window(model, optimizer, windows, scaler, size):
    for window in windows:
        optimizer.zero_grad()
        for number, (inputs, targets) in enumerate(window):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(model(inputs), targets)
            scaler.scale(loss / size).backward()
            if (number + 1) % size == 0:
                scaler.step(optimizer)
                scaler.update()


def by_the_last_batch(model, optimizer, batches, scaler):
    for _ in range(3):
        optimizer.zero_grad()
        for number, (inputs, targets) in enumerate(batches):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(model(inputs), targets)
            scaler.scale(loss / len(batches)).backward()
            if number >= len(batches) - 1:
                scaler.step(optimizer)
                scaler.update()


def counted(model, optimizer, batches, scaler, size):
    for _ in range(3):
        optimizer.zero_grad()
        for number in range(size):
            inputs, targets = next(batches)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(model(inputs), targets)
            scaler.scale(loss / size).backward()
            if (number + 1) % size == 0:
                scaler.step(optimizer)
                scaler.update()
