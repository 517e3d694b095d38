"""The jail of `unix-local` sessions: a supervisor process and what it does to its children. Standard library only."""
