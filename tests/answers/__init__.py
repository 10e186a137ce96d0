"""How large the answers of the tools are on a project of real size, and whether each is within its budget."""
