from parts import backward, update


def run(model, optimizer, scaler, train_loader):
    for batch in train_loader:
        losses = backward(model, scaler, batch)
        update(optimizer, scaler, losses)
