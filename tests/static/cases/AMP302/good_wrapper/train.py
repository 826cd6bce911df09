from precision import Stepper

import torch


def main(model, optimizer, batches, path):
    stepper = Stepper()
    checkpoint = torch.load(path)
    optimizer.load_state_dict(checkpoint["optimizer"])
    stepper.load_state_dict(checkpoint["stepper"])
    for batch in batches:
        stepper(model(batch), optimizer)
    torch.save({"optimizer": optimizer.state_dict(), "stepper": stepper.state_dict()}, path)
