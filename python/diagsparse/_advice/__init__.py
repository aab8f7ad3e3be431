"""The choice of a format and its options, based on a model of the cost of products.

`candidates` lists the suitable layouts. `models` counts the operations of a product in each format and holds the cost
of each operation; `machine` computes the time from both.
"""
