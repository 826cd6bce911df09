"""A step that something calls for each batch: one branch zeroes the gradients, or divides the loss, and the other not."""

import torch


class Learner:
    def zeroes_without_a_scaler(self, inputs, targets):
        loss = torch.nn.functional.mse_loss(self.model(inputs), targets)
        if self.amp:
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.zero_grad()  # expect: AMP220 likely
            loss.backward()
            self.optimizer.step()


class Other:
    def zeroes_with_it(self, inputs, targets):
        loss = torch.nn.functional.mse_loss(self.model(inputs), targets)
        if self.amp:
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()  # expect: AMP220 likely
        else:
            loss.backward()
            self.optimizer.step()


def divides_with_a_scaler(model, loader, optimizer, scaler, window):
    for number, (inputs, targets) in enumerate(loader, 1):
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        if scaler is not None:
            loss = loss / window  # expect: AMP220 likely
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if number % window == 0 or number == len(loader):
            if scaler is not None:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            optimizer.zero_grad()


def divides_without_one(model, loader, optimizer, scaler, window):
    for number, (inputs, targets) in enumerate(loader, 1):
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        if scaler is None:
            (loss / window).backward()  # expect: AMP220 likely
        else:
            scaler.scale(loss).backward()
        if number % window == 0 or number == len(loader):
            if scaler is not None:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            optimizer.zero_grad()
