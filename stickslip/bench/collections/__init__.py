"""Collections of problems: files, features, recordings of scenes, and the standard collection."""
