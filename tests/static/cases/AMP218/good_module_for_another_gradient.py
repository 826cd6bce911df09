"""The wrapped module runs by itself, and its weights are not stepped, or are reduced, or the wrapper runs as well."""

import torch
import torch.distributed as dist
from megatron.core.distributed import DistributedDataParallel as Sharing
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


class Adversarial:
    def __init__(self, device):
        self.generator = DistributedDataParallel(nn.Linear(8, 8).to(device))
        self.critic = DistributedDataParallel(nn.Linear(8, 1).to(device))
        self.of_generator = torch.optim.AdamW(self.generator.parameters())
        self.of_critic = torch.optim.AdamW(self.critic.parameters())

    def generate(self, noise):
        self.of_generator.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = -self.critic.module(self.generator(noise)).mean()
        loss.backward()
        self.of_generator.step()

    def perturbed(self, inputs):
        inputs = inputs.clone().requires_grad_(True)
        loss = self.critic.module(inputs).mean()
        loss.backward()
        return (inputs + inputs.grad.sign()).detach()

    def criticise(self, inputs, noise):
        self.of_critic.zero_grad()
        loss = self.critic(self.generator(noise).detach()).mean() - self.critic(self.perturbed(inputs)).mean()
        loss.backward()
        self.of_critic.step()


def distils(batches, device):
    student = DistributedDataParallel(nn.Linear(8, 1).to(device))
    teacher = DistributedDataParallel(nn.Linear(8, 1).to(device))
    optimizer = torch.optim.AdamW([*student.parameters(), *teacher.parameters()])
    for inputs in batches:
        with torch.no_grad():
            soft = teacher.module(inputs)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(student(inputs), soft + teacher.module(inputs).detach())
        loss.backward()
        optimizer.step()


def names_the_wrapper_as_before(batches, device):
    net = nn.Linear(8, 1).to(device)
    wrapped = DistributedDataParallel(net)
    net = wrapped
    optimizer = torch.optim.AdamW(net.parameters())
    for inputs, targets in batches:
        loss = nn.functional.mse_loss(net(inputs), targets)
        loss.backward()
        optimizer.step()


def tries_before_it_wraps(batches, device, fit):
    net = nn.Linear(8, 1).to(device)
    optimizer = torch.optim.AdamW(net.parameters())
    for inputs, targets in batches:
        loss = nn.functional.mse_loss(net(inputs), targets)
        loss.backward()
        optimizer.step()
    wrapped = DistributedDataParallel(net)
    fit(wrapped, batches)


def wraps_for_several(batches, device, processes, loops):
    net = nn.Linear(8, 1).to(device)
    optimizer = torch.optim.AdamW(net.parameters())
    if processes > 1:
        wrapped = DistributedDataParallel(net)
        loops[processes](wrapped).fit(batches)
    else:
        for inputs, targets in batches:
            loss = nn.functional.mse_loss(net(inputs), targets)
            loss.backward()
            optimizer.step()


def exchange(model):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG)


def exchanges_in_another_function(batches, device):
    model = DistributedDataParallel(nn.Linear(8, 1).to(device))
    optimizer = torch.optim.AdamW(model.parameters())
    for inputs, targets in batches:
        loss = nn.functional.mse_loss(model.module(inputs), targets)
        loss.backward()
        exchange(model)
        optimizer.step()


def exchanges_in_a_hook(batches, device, share):
    model = DistributedDataParallel(nn.Linear(8, 1).to(device))
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.register_step_pre_hook(share)
    for inputs, targets in batches:
        loss = nn.functional.mse_loss(model.module(inputs), targets)
        loss.backward()
        optimizer.step()


def runs_the_wrapper_by_its_method(batches, device):
    model = DistributedDataParallel(nn.Linear(8, 1).to(device))
    optimizer = torch.optim.AdamW(model.parameters())
    for inputs, _ in batches:
        loss = nn.functional.mse_loss(model.forward(inputs), model.module(inputs + 1))
        loss.backward()
        optimizer.step()


def hands_the_wrapper_on(batches, device):
    model = DistributedDataParallel(nn.Linear(8, 1).to(device), static_graph=True)
    optimizer = torch.optim.AdamW(model.parameters())
    for inputs, _ in batches:
        loss = nn.functional.mse_loss(checkpoint(model, inputs, use_reentrant=False), model.module(inputs + 1))
        loss.backward()
        optimizer.step()


def takes_the_loss_of_another(batches, device, criterion):
    model = DistributedDataParallel(nn.Linear(8, 1).to(device))
    optimizer = torch.optim.AdamW(model.parameters())
    for inputs, targets in batches:
        loss = nn.functional.mse_loss(model.module(inputs), targets)
        print(float(loss))
        loss = criterion(model, inputs, targets)
        loss.backward()
        optimizer.step()


def shares_by_hooks_of_its_own(batches, device, config):
    model = Sharing(config, nn.Linear(8, 1).to(device))
    optimizer = torch.optim.AdamW(model.parameters())
    for inputs, targets in batches:
        loss = nn.functional.mse_loss(model.module(inputs), targets)
        loss.backward()
        optimizer.step()
