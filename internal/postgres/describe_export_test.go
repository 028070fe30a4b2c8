package postgres

// LeastEntry is how many bytes a full entry is taken to have at least.
func LeastEntry(columns int) int { return leastEntry + columns*leastColumn }
