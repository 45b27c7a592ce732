"""What must never leave: used on traces, skills and logs."""
