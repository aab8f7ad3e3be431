"""Studies of our own: formats, advice, threads and small calls, beside other libraries."""
