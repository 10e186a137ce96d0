"""The weights of all-MiniLM-L6-v2 in eight bits, as `model.onnx`, and their checksum, as `model.sha256`. There is no code."""
