"""AMP6: training through a framework that drives autocast and the scaler."""
