"""How fast the console's pages are at 1,000,000 episodes, and how long its export takes."""
