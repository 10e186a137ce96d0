"""Recipes and workflows: sequences of steps that are checked before they run, and that run with the rights of the caller.

`schema.parse_recipe` reads a recipe, `workflow.recipe_from_workflow` converts a configured workflow to a recipe,
`catalog.RecipeCatalog` finds the recipes of a project, and `engine.RecipeEngine` runs them. Nothing is imported here, so a server
without recipes starts faster.
"""
