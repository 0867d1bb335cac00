"""Tests of the command line: every command, every exit status."""
