"""The viewer in the browser: the data of a scene, the page that draws it, and its server."""
