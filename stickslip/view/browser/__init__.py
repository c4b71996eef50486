"""The viewer in the browser: what is drawn, the page that draws it, and its server."""
