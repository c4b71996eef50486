"""The door: contact problems as values, their answers, and the judge."""
