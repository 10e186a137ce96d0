"""Benchmarks of the product. Each figure is compared with an anchor, measured at the same time on the same machine."""
