"""The pytest front end: one item for each check and part, with the verdicts of `grader check`.

entry     what pytest loads at its start; inert without the ini key `grader_assignment`
graded    the hooks of a run in a folder that has the key
items     the folder, its file and the checks as pytest nodes
wording   a verdict as the text of a failure
__main__  a launcher for graders who do not trust the folder
"""
