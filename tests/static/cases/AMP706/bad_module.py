"""One is written where the module is imported, the other in its entry point."""

import torch

torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True


def main():
    torch.set_float32_matmul_precision("highest")  # expect: AMP706 likely
    print(torch.ones(2) @ torch.ones(2))


if __name__ == "__main__":
    main()
