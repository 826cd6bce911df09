"""The log-likelihood of what was sampled, picked from half logits."""

import torch
import torch.nn.functional as F


def train(policy, optimizer, scaler, batches):
    for states, actions, advantages in batches:
        with torch.autocast("cuda"):
            logits = policy.forward(states)
        chosen = F.log_softmax(logits, dim=-1).gather(-1, actions.unsqueeze(-1)).squeeze(-1)  # expect: AMP110 likely
        again = torch.gather(F.log_softmax(logits, dim=-1), -1, actions.unsqueeze(-1))  # expect: AMP110 likely
        scaler.scale((advantages * (chosen + again)).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def in_two_statements(policy, optimizer, scaler, batches):
    for states, actions, advantages in batches:
        with torch.autocast("cuda"):
            logits = policy.forward(states)
        table = F.log_softmax(logits, dim=-1)  # expect: AMP110 likely
        chosen = table.gather(-1, actions.unsqueeze(-1)).squeeze(-1)
        scaler.scale((advantages * chosen).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def for_its_caller(policy, states, actions):
    with torch.autocast("cuda"):
        logits = policy.forward(states)
    table = F.log_softmax(logits, dim=-1)  # expect: AMP110 likely
    return table.gather(-1, actions.unsqueeze(-1)).squeeze(-1)
