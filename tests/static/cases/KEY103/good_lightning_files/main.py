import lightning as L

from data import Augmented, Clinic
from module import MovesItself, OfMasks, Segment


def main(net, criterion, files):
    L.Trainer(precision="16-mixed").fit(Segment(net, criterion), datamodule=Clinic(files))
    L.Trainer(precision="16-mixed").fit(OfMasks(net, criterion), datamodule=Augmented(files))
    L.Trainer(precision="16-mixed").fit(MovesItself(net, criterion), datamodule=Clinic(files))
