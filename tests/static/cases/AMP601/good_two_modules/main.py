import lightning as L

from model import Net


def main(data):
    trainer = L.Trainer(precision="bf16-mixed")
    trainer.fit(model=Net(), train_dataloaders=data)
