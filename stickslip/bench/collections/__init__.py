"""Collections of problems: files, what is said of them, recordings of scenes, the standard collection."""
