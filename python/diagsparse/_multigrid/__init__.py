"""Geometric multigrid for matrices of grids, whose levels are all stored by diagonals."""
