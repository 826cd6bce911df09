import torch


def assigned(student, teacher, batches, momentum):
    for inputs in batches:
        with torch.autocast("cuda"):
            with torch.no_grad():
                before = teacher(inputs)
                for own, other in zip(teacher.parameters(), student.parameters()):  # expect: AMP104 likely
                    own.data = momentum * own.data + (1 - momentum) * other.data
                after = teacher(inputs)
            loss = (student(inputs) - before - after).mean()
        loss.backward()


def scaled(student, teacher, batches, momentum):
    for inputs in batches:
        with torch.autocast("cuda"):
            with torch.no_grad():
                before = teacher(inputs)
                for own in teacher.parameters():  # expect: AMP104 likely
                    own.data *= momentum
                after = teacher(inputs)
            loss = (student(inputs) - before - after).mean()
        loss.backward()
