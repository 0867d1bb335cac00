"""Tests; the folders right and wrong hold student submissions as test data."""
