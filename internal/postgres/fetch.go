package postgres

import (
	"fmt"

	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// growth is how much larger each FETCH of a query is than those before it.
const growth = 3

// sentTimes is how many times query.maxBytes may come over the wire before a query is stopped: a cell
// that is cut was sent whole.
const sentTimes = 16

// fetchSizes splits the reading of so many rows into FETCHes that all stand in one flush: 1, 3, 12, 48 …
// Postgres runs a FETCH to its end and keeps all its rows, in memory or in a temporary file, before it
// sends the first one (FillPortalStore in its pquery.c), and while it sends them it does not look for
// a cancel. With a single FETCH the byte bound would come when every row has been made: 1,000 rows of
// 1 MB, or of 60. As it is, no FETCH makes more than growth times what was sent before it, and a row.
// See TestS21WideRowsStopEarly.
func fetchSizes(rows int) []int {
	sizes := []int{1}
	for done := 1; done < rows; {
		next := min(growth*done, rows-done)
		sizes = append(sizes, next)
		done += next
	}
	return sizes
}

// fetch adds the FETCHes of so many rows. The steps from the first one on, as many as are returned,
// give the rows.
func (f *readFlush) fetch(rows int) (first, steps int) {
	sizes := fetchSizes(rows)
	for _, n := range sizes {
		f.Add("fetch", wire.Step{SQL: fmt.Sprintf("FETCH FORWARD %d FROM sw_c", n)})
	}
	return f.Index("fetch"), len(sizes)
}
