"""The program that runs in the student's process; it imports the standard library, NumPy and, where needed, torch."""
