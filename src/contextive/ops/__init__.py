"""Care of a project and its server, for people: doctor and demo."""
