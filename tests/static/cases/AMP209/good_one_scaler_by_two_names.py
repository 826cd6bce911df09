import torch


def shared_or_not(generator, critic, loader, loss_fn, share):
    generator_optimizer = torch.optim.Adam(generator.parameters())
    critic_optimizer = torch.optim.Adam(critic.parameters())
    scaler = torch.amp.GradScaler("cuda")
    critic_scaler = scaler
    if not share:
        critic_scaler = torch.amp.GradScaler("cuda")
    for noise in loader:
        critic_optimizer.zero_grad(set_to_none=True)
        generator_optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(critic(generator(noise)))
        scaler.scale(loss).backward()
        if share:
            critic_scaler.step(critic_optimizer)
        scaler.step(generator_optimizer)
        scaler.update()


def updated_by_the_other_name(model, loader, loss_fn, given):
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    last = scaler if given is None else torch.amp.GradScaler("cuda", init_scale=given)
    for inputs in loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        last.update()
