"""lev_memory."""
