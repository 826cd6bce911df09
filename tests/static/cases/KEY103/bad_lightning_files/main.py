import lightning as L

from data import Clinic
from module import Segment


def main(net, criterion, files):
    trainer = L.Trainer(precision="16-mixed", max_epochs=3)
    trainer.fit(Segment(net, criterion), datamodule=Clinic(files))
