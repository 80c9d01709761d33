"""What commands show of outputs: figures, tables, HTML pages and pictures."""
