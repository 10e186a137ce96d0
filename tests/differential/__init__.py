"""The engine beside the real duvet: the same projects, the same answers. `make differential` runs it; `make test` never does."""
