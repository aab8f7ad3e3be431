"""The experiments of the papers, with their tables and the printed results."""
