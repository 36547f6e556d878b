"""Block-wise low-rank approximation of kernel matrices."""
