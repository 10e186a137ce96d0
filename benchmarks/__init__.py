"""Measurements of the product, each beside an anchor that was measured in the same minutes on the same machine."""
