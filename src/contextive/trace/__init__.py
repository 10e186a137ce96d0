"""Requirements traceability, without I/O: specifications and source files in; citations, coverage and reports out.

The file formats are those of AWS's duvet, so a project that uses duvet works without changes.
"""
