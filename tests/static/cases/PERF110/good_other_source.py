"""A loss that may come from a trainer, whose call gives a number. (The file mentions autocast.)"""

import torch


def validate(trainer, averaged_model, loader, use_average):
    total = torch.zeros(1)
    for batch in loader:
        if use_average:
            loss = averaged_model(batch.cuda())
        else:
            loss = trainer(batch.cuda())
        total += loss
    return total


def main(trainer, averaged_model, loader):
    print(validate(trainer, averaged_model, loader, False))


def train(model, optimizer, loader):
    images = []
    for batch in loader:
        loss_and_image = model(batch.cuda())
        loss, image = loss_and_image
        images.append(image)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return images
