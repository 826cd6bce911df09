export OMP_NUM_THREADS=1
accelerate launch --num_processes 2 --mixed_precision fp16 main.py --epochs 3
