"""What lasts. `protocol` says what services ask of a store; `sqlite` is the embedded one."""
