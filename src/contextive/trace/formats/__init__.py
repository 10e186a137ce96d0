"""Readers of spec-driven formats, one file for each: Kiro, spec-kit and OpenSpec. Text in, values out.

Each reader takes the texts of the files of one specification, by path, and returns a `FormatSpecification`. A reader
never fails: what it does not understand is counted and listed with its line and the reason.
"""
