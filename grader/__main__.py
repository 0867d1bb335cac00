"""`python -m grader`: the command line where the script is not on the PATH."""

from grader.cli import main

if __name__ == "__main__":
    main()
