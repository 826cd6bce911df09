python train.py --per_device_train_batch_size 2 --fp16
python train.py --per_device_train_batch_size 2 --bf16 True
python train.py --per_device_train_batch_size 2 --bf16 True --fp16 False
