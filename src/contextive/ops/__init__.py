"""The logic behind commands for people: init, install, doctor, demo, status and duvet's commands."""
