"""The critic steps in every turn; the window is the actor's."""

import torch


def train(critic, actor, batches, scaler, delay):
    critic_optimizer = torch.optim.Adam(critic.parameters())
    actor_optimizer = torch.optim.Adam(actor.parameters())
    for number, (states, targets) in enumerate(batches):
        with torch.autocast("cuda"):
            critic_loss = torch.nn.functional.mse_loss(critic(states), targets)
        critic_optimizer.zero_grad()
        scaler.scale(critic_loss).backward()
        scaler.step(critic_optimizer)
        if not number % delay:
            with torch.autocast("cuda"):
                actor_loss = -critic(actor(states)).mean()
            actor_optimizer.zero_grad()
            scaler.scale(actor_loss).backward()
            scaler.step(actor_optimizer)
        scaler.update()


def train_with(critic, actor, batches, scaler, delay):
    critic_optimizer = torch.optim.Adam(critic.parameters())
    actor_optimizer = torch.optim.Adam(actor.parameters())
    for number, (states, targets) in enumerate(batches):
        with torch.autocast("cuda"):
            critic_loss = torch.nn.functional.mse_loss(critic(states), targets)
        critic_optimizer.zero_grad()
        scaler.scale(critic_loss).backward()
        scaler.step(critic_optimizer)
        if (number + 1) % delay == 0:
            actor_optimizer.zero_grad()
            scaler.scale(-critic(actor(states)).mean()).backward()
            scaler.step(actor_optimizer)
        scaler.update()
