"""Words for other ways to scale stand in the file, and none of them is about this loss: accelerate, apex, fabric."""

import torch
from accelerate.utils import set_seed
from helpers.lightning_logs import CSVLogger  # the lightning logger, and no Trainer
from sklearn.preprocessing import StandardScaler


def train(model, optimizer, batches):
    """No GradScaler here, as the author had one for apex alone."""
    set_seed(0)
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP305
            loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def standardised(table):
    scaler = StandardScaler()
    return scaler.fit_transform(table)


class Fabrics(torch.utils.data.Dataset):
    """A dataset of fabric defects."""

    def __init__(self, fabrics, loss_scaling_note=""):
        self.fabrics = fabrics
        self.note = loss_scaling_note

    def fit(self, model, batches):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        logger = CSVLogger("logs")
        for batch in batches:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP305
                loss = model(batch).mean()
            loss.backward()
            logger.log(loss.item())
            optimizer.step()
