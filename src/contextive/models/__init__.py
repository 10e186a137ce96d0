"""Models: which one serves a request, how it is asked, and answers that cite what they rest on.

`router.ModelRouter` picks and asks, `provider_setup.connect_providers` makes providers of settings, `ask.AskService` answers questions.
Nothing is imported here: a server that is never asked for a model does not pay for one.
"""
