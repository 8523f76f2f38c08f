"""Components of the selected variables, and what is estimated from the columns as a whole."""
