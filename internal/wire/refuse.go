package wire

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// RefuseOptions say what a server error happened to.
type RefuseOptions struct {
	// Fallback is the code for errors about the statement itself: QUERY_FAILED, EXPLAIN_FAILED or
	// WRITE_FAILED.
	Fallback refusal.Code
	// Cancelled says that the caller's context had ended; only then is 57014 a cancelled call, else
	// it is a timeout (both have the same SQLSTATE, and the message is translated).
	Cancelled bool
	// TimeoutSetting and LockSetting name the configuration keys of the limits in force.
	TimeoutSetting, LockSetting string
	// HideValues leaves out what the server's sentence may repeat of rows: for statements that run with
	// rights that are not the agent's. What the text itself holds at a known place stays.
	HideValues bool
	// Masks says that columns are masked: of the server's sentence only what cannot hold a value is kept.
	Masks bool
	// Hides tells of tables that are not shown; nil hides none. What names one because a foreign key of it
	// refuses the change (the server names that table and the constraint) is said without the names.
	Hides func(schema, table string) bool
}

// maxMessage bounds what of the server's sentence goes to the agent; it may repeat a value of the
// statement as a whole.
const maxMessage = 1000

// Refuse turns an error about the agent's statement into what the agent reads: the server's primary
// message, its SQLSTATE and position, and a next step. Nothing else of the error is used: DETAIL,
// HINT and CONTEXT carry whole rows. The SQLSTATEs are those of appendix A of the PostgreSQL manual.
func Refuse(e *ServerError, o RefuseOptions) *refusal.Error {
	if o.Fallback == "" {
		o.Fallback = refusal.QueryFailed
	}
	code, hint := o.Fallback, ""
	switch {
	case o.Masks:
		e = Masked(e)
	case o.HideValues:
		e = withoutValues(e)
	}
	message := sentence(e)
	if (e.SQLState == "23503" || e.SQLState == "23001") && e.Table != "" && o.Hides != nil && o.Hides(e.Schema, e.Table) {
		message = fmt.Sprintf("A foreign key of a table that is not shown here refuses the change (SQLSTATE %s)", e.SQLState)
		hint = "Rows of that table point to what would change; the operator can tell which."
	}
	switch {
	case e.SQLState == "57014" && o.Cancelled:
		message, hint = "The call was cancelled.", "Nothing was changed; call again if it is still wanted."
	case e.SQLState == "57014":
		code = refusal.StatementTimeout
		setting := or(o.TimeoutSetting, "the configured statement timeout")
		message = fmt.Sprintf("The statement ran longer than %s allows and was stopped (SQLSTATE 57014).", setting)
		hint = fmt.Sprintf("Narrow it down (a more selective condition, an index, a smaller range), or ask the operator to raise %s.", setting)
	case e.SQLState == "55P03":
		code = refusal.LockTimeout
		setting := or(o.LockSetting, "the configured lock timeout")
		message = fmt.Sprintf("Another transaction holds a lock that the statement needs, for longer than %s allows (SQLSTATE 55P03).", setting)
		hint = "Try again in a moment; if it stays so, the operator can find the blocker in pg_stat_activity."
	default:
		for _, rule := range rules {
			if strings.HasPrefix(e.SQLState, rule.state) {
				if rule.code != "" {
					code = rule.code
				}
				hint = or(hint, rule.hint)
				break
			}
		}
	}
	return refusal.New(code, message, or(hint, "Correct the statement by what the message says; describe_schema shows tables and columns."))
}

// rules are read top down, so a full SQLSTATE stands before its class. An empty code is the
// fallback.
var rules = []struct {
	state string
	code  refusal.Code
	hint  string
}{
	{"08P01", refusal.InvalidInput, "Check that $1..$n all occur and that each has a value."},
	{"08", refusal.DatabaseUnavailable, "Call again; if it stays so, the operator should look at the server's log."},
	{"0A000", "", "This form is not possible here; write it another way."},
	{"21000", "", "Make the sub-select return one row, for example with LIMIT 1 or an aggregate."},
	{"22003", "", "The value does not fit into the column's type."},
	{"22012", "", "Guard the division, for example with NULLIF(x, 0)."},
	{"22021", refusal.InvalidInput, "Remove the character that cannot be stored (U+0000 or broken UTF-8)."},
	{"22P02", "", "The text is not a value of the type that stands there; check the parameter, or write a cast such as $1::text."},
	{"22P05", refusal.InvalidInput, "The database's encoding lacks this character; remove or replace it."},
	{"22", "", "Check the value against the column's type; describe_schema shows it."},
	{"23502", "", "Give the column a value, or leave it out if it has a default."},
	{"23503", "", "The row points to one that does not exist, or others still point to it; describe_schema shows the foreign keys."},
	{"23505", "", "A row with this key exists already; update it, or use another key."},
	{"23514", "", "A CHECK constraint refuses the value; describe_schema shows the checks."},
	{"23P01", "", "An exclusion constraint refuses the row; it overlaps with one that exists."},
	{"23", "", "A constraint refuses the change; describe_schema shows the constraints."},
	{"25006", "", "query and explain_plan run READ ONLY. To change data use insert_rows, update_rows, delete_rows or run_migration."},
	{"25P03", refusal.DatabaseUnavailable, "The transaction was idle too long and the server ended it; call again."},
	{"28", refusal.DatabaseUnavailable, "The operator should check the role and its password."},
	{"40", "", "The rows are being changed by others right now; wait a moment and try again."},
	{"42501", "", "The server's role lacks this right; the operator can GRANT it, or use another table."},
	{"42601", "", "Correct the syntax at the place the message names; exactly one statement is accepted."},
	{"42703", "", "Use a column that describe_schema shows; names with upper case letters need double quotes."},
	{"42702", "", "Qualify the column with its table or alias."},
	{"42803", "", "Put the column into GROUP BY or into an aggregate."},
	{"42804", "", "Add a cast so that the types agree."},
	{"42883", "", "No function or operator takes these types; add a cast, such as $1::interval or $1::bigint."},
	{"42P01", refusal.InvalidTableName, "Use a table that describe_schema shows, with its schema."},
	{"42P08", "", "Give the parameter a type where it stands, such as $1::text."},
	{"42P18", "", "Give the parameter a type where it stands: write $1::text. Each of $1..$n must occur."},
	{"428C9", "", "The column's value is generated; leave the column out."},
	{"53300", refusal.DatabaseUnavailable, "The server has no connection left; call again later, or lower database.maxConnections."},
	{"53", "", "The server ran out of a resource; ask for less at once."},
	{"54", "", "The statement is too large or too complex for the server; split it."},
	{"57P", refusal.DatabaseUnavailable, "The server is going down or starting up; call again in a moment."},
	{"58", "", "The server has trouble with its system; the operator should look at its log."},
	{"P0001", "", "A function or trigger of the database refused it; the message is its own."},
	{"XX", "", "The server reports an internal error; the operator should look at its log."},
}

// sentence is the server's primary message with SQLSTATE and position.
func sentence(e *ServerError) string {
	switch e.SQLState[:min(2, len(e.SQLState))] {
	case "58", "XX", "F0": // these sentences name files of the server
		return fmt.Sprintf("The server failed in itself (SQLSTATE %s).", e.SQLState)
	}
	m := strings.ToValidUTF8(e.Message, "\uFFFD")
	if len(m) > maxMessage {
		cut := maxMessage
		for cut > 0 && !utf8.RuneStart(m[cut]) {
			cut--
		}
		m = fmt.Sprintf("%s… (%d bytes)", m[:cut], len(m))
	}
	if e.Position > 0 {
		return fmt.Sprintf("%s (SQLSTATE %s, at character %d of the statement)", m, e.SQLState, e.Position)
	}
	return fmt.Sprintf("%s (SQLSTATE %s)", m, e.SQLState)
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// withoutValues is e without what may be values of rows: everything from the first quote to the last, and
// all of what a function or trigger says of itself. Errors of the text, which have a position, are the
// agent's own words (manual, 55.8, field P). See TestRefuseHidesValues.
func withoutValues(e *ServerError) *ServerError {
	if e.Position > 0 {
		return e
	}
	c := *e
	if strings.HasPrefix(e.SQLState, "P0") {
		c.Message = "A function or trigger refused it; what it says may hold values and is left out"
		return &c
	}
	first, last := strings.IndexByte(c.Message, '"'), strings.LastIndexByte(c.Message, '"')
	if first >= 0 && last > first {
		c.Message = c.Message[:first] + `"…"` + c.Message[last+1:]
	}
	if c.Constraint != "" {
		c.Message += " (constraint " + c.Constraint + ")"
	}
	return &c
}
