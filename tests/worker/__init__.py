"""Tests of the process that runs a submission, and of what is said to it."""
