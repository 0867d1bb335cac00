"""Tests of the reports: golden files, and text of unknown origin."""
