"""One model and one loss, read in two precisions."""

import torch
from torch.amp import GradScaler, autocast


def train_epoch(model, criterion, optimizer, scaler, train_loader):
    model.train()
    for images, labels in train_loader:
        optimizer.zero_grad()
        with autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@torch.no_grad()
def check(model, criterion, val_loader):
    total = 0.0
    for images, labels in val_loader:
        total += criterion(model(images), labels)  # expect: AMP106 likely
    return total


def fit(model, optimizer, train_loader, val_loader):
    criterion = torch.nn.CrossEntropyLoss()
    scaler = GradScaler("cuda")
    for _ in range(10):
        train_epoch(model, criterion, optimizer, scaler, train_loader)
        print(check(model, criterion, val_loader))


class Trainer:
    """The model is an attribute, and gives its own loss."""

    def __init__(self, model, optimizer, config):
        self.model = model
        self.optimizer = optimizer
        self.config = config
        self.scaler = GradScaler("cuda")

    def train(self, loader):
        for step, batch in enumerate(loader):
            with autocast("cuda"):
                output = self.model(batch)
                loss = output.loss
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
            if step % 1000 == 0:
                self.evaluate(loader)

    def evaluate(self, loader):
        total = 0.0
        with torch.inference_mode():
            for batch in loader:
                output = self.model(batch)  # expect: AMP106 likely
                loss = output.loss
                total += loss
        return total


def in_one_function(net, loss_fn, optimizer, scaler, train_loader, val_loader):
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        with autocast("cuda", dtype=torch.float16):
            loss = loss_fn(net(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    net.eval()
    total = 0.0
    with torch.no_grad(), autocast("cuda", dtype=torch.bfloat16):
        for inputs, targets in val_loader:
            total += loss_fn(net(inputs), targets)  # expect: AMP106 likely
    return total


def trained_in_float32(net, loss_fn, optimizer, train_loader, val_loader):
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(net(inputs), targets)
        loss.backward()
        optimizer.step()
    return measured(net, loss_fn, val_loader)


@torch.no_grad()
def measured(net, loss_fn, val_loader):
    total = 0.0
    for inputs, targets in val_loader:
        with autocast("cuda", dtype=torch.float16):
            total += loss_fn(net(inputs), targets)  # expect: AMP106 likely
    return total


def by_names_of_the_purpose(net, loss_fn, optimizer, scaler, loader_train, loader_valid, test_queue):
    for inputs, targets in loader_train:
        optimizer.zero_grad()
        with autocast("cuda", dtype=torch.float16):
            loss = loss_fn(net(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    net.eval()
    total = 0.0
    for inputs, targets in loader_valid:
        with torch.no_grad():
            total += loss_fn(net(inputs), targets)  # expect: AMP106 likely
    for inputs, targets in test_queue:
        with torch.no_grad():
            total += loss_fn(net(inputs), targets)  # expect: AMP106 likely
    return total


def on_several_devices(net, loss_fn, optimizer, scaler, train_loader, val_loader):
    on_all = torch.nn.parallel.DistributedDataParallel(net)
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        with autocast("cuda", dtype=torch.float16):
            loss = loss_fn(on_all(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    net.eval()
    total = 0.0
    for inputs, targets in val_loader:
        with torch.no_grad():
            total += loss_fn(net(inputs), targets)  # expect: AMP106 likely
    return total


class Run:
    """One criterion smooths its labels, the other is for the tests: both losses are told side by side."""

    def train(self, conf):
        for inputs, targets in conf.train_loader:
            conf.optimizer.zero_grad()
            with autocast("cuda"):
                loss = conf.criterion(conf.model(inputs), targets)
            conf.scaler.scale(loss).backward()
            conf.scaler.step(conf.optimizer)
            conf.scaler.update()

    @torch.no_grad()
    def test(self, conf):
        total = 0.0
        for inputs, targets in conf.test_loader:
            outputs = conf.model(inputs)  # expect: AMP106 likely
            total += conf.test_criterion(outputs, targets)
        return total

    def run(self, conf):
        conf.scaler = GradScaler("cuda")
        self.train(conf)
        return self.test(conf)


def train_generator(net, optimizer, loader, loader_test):
    scaler = GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        with autocast("cuda"):
            loss = net(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    net.eval()
    total = 0.0
    with torch.no_grad():
        for batch in loader_test:
            sample = net(batch, infer=True)
            show(sample)
            loss = net(batch)  # expect: AMP106 likely
            total += loss
    return total


def both_phases_in_one_loop(net, loss_fn, optimizer, scaler, loaders, history, half):
    for phase in ("train", "val"):
        for inputs, targets in loaders[phase]:
            optimizer.zero_grad()
            if phase == "val":
                with torch.no_grad():
                    outputs = net(inputs)  # expect: AMP106 likely
            elif half:
                with autocast("cuda"):
                    outputs = net(inputs)
            else:
                outputs = net(inputs)
            loss = loss_fn(outputs, targets)
            if phase == "train":
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
            history[phase].append(loss.detach())
