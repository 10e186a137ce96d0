"""Language models: choosing and calling them, and answering questions with cited sources.

`router.ModelRouter` chooses and calls a model, `provider_setup.connect_providers` creates providers from settings, and
`ask.AskService` answers questions. Nothing is imported here, so a server that uses no model starts faster.
"""
