"""Traceability, pure: specifications, requirements and citations in; references, coverage and reports out.

The formats are those of AWS's duvet, so that every project that uses it can be read as it is.
"""
