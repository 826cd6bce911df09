"""Both branches zero and divide, each in its way; what one of them does more is none of the other's business."""

import torch


class Learner:
    def step(self, inputs, targets):
        loss = torch.nn.functional.mse_loss(self.model(inputs), targets)
        if self.amp:
            self.optimizer.zero_grad(set_to_none=True)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            for parameter in self.model.parameters():
                parameter.grad = None
            loss.backward()
            self.optimizer.step()


def each_divides(model, loader, optimizer, scaler, window):
    for number, (inputs, targets) in enumerate(loader, 1):
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        if scaler is not None:
            scaler.scale(loss / window).backward()
        else:
            loss /= window
            loss.backward()
        if number % window == 0 or number == len(loader):
            if scaler is not None:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            optimizer.zero_grad()


def divided_before(model, loader, optimizer, scaler, window):
    for number, (inputs, targets) in enumerate(loader, 1):
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss = loss / window
        if scaler is not None:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        print(loss.item() / number)
        if number % window == 0 or number == len(loader):
            if scaler is not None:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            optimizer.zero_grad()
