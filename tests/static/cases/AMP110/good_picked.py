"""What is gathered from all processes is logged; what is picked is cast first."""

import torch
import torch.nn.functional as F


def train(policy, optimizer, scaler, accelerator, batches):
    for states, actions, advantages in batches:
        with torch.autocast("cuda"):
            logits = policy.forward(states)
        print(accelerator.gather(F.log_softmax(logits, dim=-1)))
        chosen = F.log_softmax(logits.float(), dim=-1).gather(-1, actions.unsqueeze(-1)).squeeze(-1)
        scaler.scale((advantages * chosen).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def shown_in_two_statements(policy, states, accelerator):
    with torch.autocast("cuda"):
        logits = policy.forward(states)
    table = F.log_softmax(logits, dim=-1)
    print(accelerator.gather(table))
