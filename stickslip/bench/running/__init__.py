"""One run in a warm process under limits, and executors that make many."""
