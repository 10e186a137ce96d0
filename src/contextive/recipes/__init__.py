"""Recipes and workflows: chains of steps that are checked before they run, and run as their caller.

`schema.parse_recipe` reads one, `workflow.recipe_from_workflow` makes one of a configured workflow, `catalog.RecipeCatalog` finds those of a
project, and `engine.RecipeEngine` runs them. Nothing is imported here, so that a server without any starts no slower.
"""
