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
