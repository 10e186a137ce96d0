"""Compare the results of Contextive and the real duvet for generated projects. Run by `make differential`, not `make test`."""
