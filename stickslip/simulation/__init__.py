"""The only loop over time: `simulate` carries a system to the end and keeps what happened."""
