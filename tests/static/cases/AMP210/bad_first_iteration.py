"""Steps under conditions on the counter of a loop that leave some of its values out."""

import torch


def not_in_the_second_epoch(model, optimizer, epochs, batches):
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        for batch in batches:
            optimizer.zero_grad()
            scaler.scale(model(batch)).backward()
            if epoch == 0:
                scaler.step(optimizer)
            elif epoch > 1:
                scaler.step(optimizer)
            scaler.update()  # expect: AMP210
