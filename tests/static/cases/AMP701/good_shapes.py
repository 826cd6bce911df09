"""Master weights, adapters, other optimizers, large steps, and weights that are not trained."""

import deepspeed
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torchao.optim import AdamW8bit
from transformers import AutoModelForCausalLM


def small_net():
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))


def under_autocast(batches):
    net = small_net().cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-5)
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = net(batch).mean()
        loss.backward()
        opt.step()


def copies_in_float32(batches):
    net = small_net().to(torch.bfloat16)
    copies = [weight.detach().float().requires_grad_() for weight in net.parameters()]
    opt = torch.optim.AdamW(copies, lr=1e-5)
    for batch in batches:
        net(batch).mean().backward()
        for copy, weight in zip(copies, net.parameters(), strict=True):
            copy.grad = weight.grad.float()
        opt.step()


def rounds_stochastically(batches):
    net = small_net().to(torch.bfloat16)
    opt = AdamW8bit(net.parameters(), lr=1e-5, bf16_stochastic_round=True)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()


def engine(batches, config):
    net = small_net().to(torch.bfloat16)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-5)
    net, opt, _, _ = deepspeed.initialize(model=net, optimizer=opt, config=config)
    for batch in batches:
        net.backward(net(batch).mean())
        net.step()


def adapters(batches):
    base = AutoModelForCausalLM.from_pretrained("some/model", torch_dtype=torch.bfloat16)
    lm = get_peft_model(base, LoraConfig())
    opt = torch.optim.AdamW(lm.parameters(), lr=1e-4)
    for batch in batches:
        lm(**batch).loss.backward()
        opt.step()


def freeze(network):
    for weight in network.parameters():
        weight.requires_grad = False


def own_adapters(batches):
    net = small_net().to(torch.bfloat16)
    freeze(net)
    net.append(nn.Linear(1, 1))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()


def only_the_head(batches):
    net = small_net().to(torch.bfloat16)
    opt = torch.optim.AdamW([each for each in net.parameters() if each.requires_grad], lr=1e-4)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()


def large_steps(batches):
    net = small_net().to(torch.bfloat16)
    opt = torch.optim.Adam(net.parameters(), lr=0.05)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()


def made_float_again(batches):
    net = small_net().to(torch.bfloat16)
    net.float()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-5)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()


def evaluated(batches):
    net = small_net().to(torch.bfloat16)
    with torch.inference_mode():
        return [net(batch) for batch in batches]
