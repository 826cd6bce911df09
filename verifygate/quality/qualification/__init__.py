"""The qualification kit: what a team under ISO 26262 or DO-330 needs to qualify this version for its own use."""
