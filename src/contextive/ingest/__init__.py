"""From files to knowledge: what a project's files say now, parsed again only where they changed."""
