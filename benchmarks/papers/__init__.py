"""The experiments of the papers: a module and its tables for each, and what the papers print."""
