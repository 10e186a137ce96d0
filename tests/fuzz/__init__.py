"""Fuzz tests of every parser and both transports: seeds from the corpus, mutations of them, and large inputs."""
