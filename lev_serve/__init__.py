"""The server of ``lev-serve``: a page and an HTTP/JSON interface for one model."""
