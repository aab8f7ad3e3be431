"""The matrices of the gallery, by kind."""
