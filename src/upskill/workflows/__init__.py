"""One module per thing a user can ask for. Each carries values from room to room and prints nothing."""
