package tests

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// The SQL that README.md tells an owner to run does what it says: the three roles can do their work on
// tables that existed before, and the application that owned them goes on working, its serial column
// included (the sequence goes to the new owner together with the table).
func TestDocsGrantsLeaveTheOwnerAtWork(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	app, _ := db.Role(t, "")
	work := []string{
		"INSERT INTO public.orders (total) VALUES (1)",
		"UPDATE public.orders SET total = 2",
		"DELETE FROM public.orders WHERE total = 2 RETURNING id",
	}
	as := func(role string, statements ...string) {
		t.Helper()
		db.Exec(t, fmt.Sprintf("BEGIN; SET LOCAL ROLE %s; %s; COMMIT", role, strings.Join(statements, "; ")))
	}
	db.Exec(t, fmt.Sprintf(`CREATE TABLE public.orders (id serial PRIMARY KEY, total int);
		ALTER TABLE public.orders OWNER TO %s`, app))
	as(app, work...)

	grants := 0
	for _, m := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(docText(t, readme), -1) {
		if strings.Contains(m[1], "GRANT ") {
			grants++
			require.NotContains(t, m[1], "`")
			db.Exec(t, regexp.MustCompile(`\bapp\b`).ReplaceAllString(m[1], app))
		}
	}
	require.Equal(t, 2, grants, "the grants for the roles, and what the owner before gets back")

	as(app, work...)
	as(app, "CREATE TABLE public.own (id int)")
	as("writer", work...)
	as("readonly", "SELECT * FROM public.orders")
	as("migrator", "ALTER TABLE public.orders ADD COLUMN note text")
}
