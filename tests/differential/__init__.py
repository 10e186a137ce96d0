"""Compare the results of Contextive and the real duvet for generated projects. Run by `make differential`, not `make test`.

What differs on purpose is counted, not reported (`ignore_known_differences`, `difference`): duvet writes control
characters and the line ends of headings into requirement files as they are, which can make the TOML invalid, and its
release 0.4.2 ignores citations without a section.
"""
