"""The library: what the commands do, with plain arguments and typed results. `import upskill` offers its names."""
