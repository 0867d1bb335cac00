"""Inputs of parts, one file a family; grader/cases.py has what they share and imports every file here."""
