import lightning as L

from model import Net


def main(data):
    trainer = L.Trainer(precision="16-mixed")
    trainer.fit(model=Net(), train_dataloaders=data)
