"""Settings that are edited by hand."""

use_amp = False
clip = 1.0
unscale = True
