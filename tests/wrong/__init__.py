"""Wrong submissions, written as one-mistake patches of right ones."""
