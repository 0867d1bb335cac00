"""The pytest front end: one item for each check and part, with the verdicts of `grader check`.

entry     what pytest loads at its start; inert without the ini key `grader_assignment`
graded    collecting, running and reporting, in a folder that has the key
wording   a verdict as the text of a failure
__main__  a launcher for graders who do not trust the folder
"""
