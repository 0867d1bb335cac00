"""Tests of the pytest front end, one file for each thing that a user of it relies on."""
