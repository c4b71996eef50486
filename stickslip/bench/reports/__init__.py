"""Reports of campaigns: pages of text, tables and figures."""
