"""Tests of a class: in one process, in jobs, on a cluster; killed, interrupted, resumed."""
