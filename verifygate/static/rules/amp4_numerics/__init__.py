"""Rules about numbers that half precision cannot hold."""
