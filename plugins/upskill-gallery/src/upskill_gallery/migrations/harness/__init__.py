"""What runs inside the sandbox: it starts a server, runs a migration and prints what it saw. It decides nothing."""
