"""A campaign as a page of text, tables and figures."""
