import lightning as L
from callbacks import Watch
from module import Classify


def main(net, criterion, loader):
    trainer = L.Trainer(precision="16-mixed", callbacks=[Watch()])
    trainer.fit(Classify(net, criterion), loader)
