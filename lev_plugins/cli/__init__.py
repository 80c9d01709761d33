"""Commands: ``python -m lev_plugins`` lists them."""
