import torch
from torch import nn


def main():
    teacher, student = nn.Linear(6, 3), nn.Linear(6, 3)
    t_opt = torch.optim.SGD(teacher.parameters(), lr=0.1)
    s_opt = torch.optim.SGD(student.parameters(), lr=0.1)
    t_scaler, s_scaler = torch.amp.GradScaler("cuda"), torch.amp.GradScaler("cuda")
    plan = [("teacher", teacher, t_opt, t_scaler)] * 3 + [("student", student, s_opt, s_scaler)] * 3
    for role, net, opt, amp in plan:
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            out = net(x)
            if role == "teacher":
                loss = nn.functional.cross_entropy(out, y)
            else:
                with torch.no_grad():
                    target = teacher(x).float().softmax(-1)
                loss = nn.functional.cross_entropy(out, target)
        amp.scale(loss).backward()
        amp.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        amp.step(opt)
        amp.update()


if __name__ == "__main__":
    main()
