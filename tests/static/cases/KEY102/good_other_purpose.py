"""A second checkpoint, of the model alone as it was fine-tuned, from which no run of the first kind resumes."""

import torch


def save(state, path):
    torch.save(state, path)


def pretrain(teacher, student, optimizers, scalers, step):
    save(
        {
            "step": step,
            "teacher": teacher.state_dict(),
            "student": student.state_dict(),
            "teacher_optimizer": optimizers[0].state_dict(),
            "student_optimizer": optimizers[1].state_dict(),
            "teacher_scaler": scalers[0].state_dict(),
            "student_scaler": scalers[1].state_dict(),
        },
        "last.pt",
    )


def finetune(student, optimizer, step):
    save(
        {"step": step, "student": student.state_dict(), "student_optimizer": optimizer.state_dict(), "teacher": None},
        "last.pt",
    )


def resume(teacher, student, optimizers):
    scalers = [torch.amp.GradScaler("cuda"), torch.amp.GradScaler("cuda")]
    state = torch.load("last.pt")
    teacher.load_state_dict(state["teacher"])
    student.load_state_dict(state["student"])
    optimizers[0].load_state_dict(state["teacher_optimizer"])
    optimizers[1].load_state_dict(state["student_optimizer"])
    scalers[0].load_state_dict(state["teacher_scaler"])
    scalers[1].load_state_dict(state["student_scaler"])
    return state["step"]
