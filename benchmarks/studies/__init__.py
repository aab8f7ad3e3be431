"""Studies beyond the papers: formats, recommendations, threads and small calls, compared with other libraries."""
