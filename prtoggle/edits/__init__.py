"""Text to text: where an edit stands in a module's source, and what the source becomes.

Pure functions over values. Nothing here imports the rest of prtoggle, reads a file or imports a target; only the
standard library is used (a test enforces both). Every locator answers with a value of :mod:`prtoggle.edits.outcome`;
none raises for text that does not match.
"""
