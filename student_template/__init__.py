"""The folders that `grader init` copies: one for each assignment, with stubs, settings and three commands to know."""
