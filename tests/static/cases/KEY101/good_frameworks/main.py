import lightning as L
from callbacks import Watch, WatchMore
from module import Classify, More, Plain


def main(net, criterion, loader):
    L.Trainer(precision="16-mixed", callbacks=[Watch()]).fit(Classify(net, criterion), loader)
    L.Trainer(precision="16-mixed").fit(Plain(net, criterion), loader)
    L.Trainer(precision="16-mixed", callbacks=[WatchMore()]).fit(More(net, criterion), loader)
