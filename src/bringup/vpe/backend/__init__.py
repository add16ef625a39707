"""The plug-in that Triton loads (entry-point group `triton.backends`): `compiler.py` and `driver.py`."""
