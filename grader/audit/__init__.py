"""Grades the grader: every known wrong variant is caught and named, every right one gets full marks."""

from grader.audit.run import Audit, audit

__all__ = ["Audit", "audit"]
