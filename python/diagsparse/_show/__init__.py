"""What a person sees of a matrix: a line of text, drawings, tables, the terminal.

Calls `_places`; what it shows it asks by methods.
"""
