"""Many skills, many models, many machines."""
