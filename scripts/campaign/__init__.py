"""The reliability campaign: each figure of docs/reliability.md measured, kept, put in a table."""
