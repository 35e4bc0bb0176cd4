"""How well a judge of text agrees with labels given by hand."""
