package writecore

import (
	"encoding/json"
	"fmt"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// switches is what of a relation is on or off, from relations.sql.
type switches struct {
	name            string
	security, force bool
	policies        string
	triggers        map[string]string // pg_trigger.tgenabled by name
}

func switchesOf(r wire.Result) map[string]switches {
	out := map[string]switches{}
	for i := range r.Rows {
		if cell(r, i, 8) == "" {
			continue // the text does not name it
		}
		s := switches{
			name:     sqlguard.QuoteName(cell(r, i, 2), cell(r, i, 3)),
			security: cell(r, i, 8) == "t", force: cell(r, i, 9) == "t", policies: cell(r, i, 10),
		}
		_ = json.Unmarshal([]byte(cell(r, i, 11)), &s.triggers) // NULL where there are none
		out[cell(r, i, 0)] = s
	}
	return out
}

// switched says for whom something is another thing once a migration has switched row security or a trigger:
// neither drops, loses nor locks anything worth a warning, and both change what every later statement does.
// See TestMigrationSwitches.
func switched(sc *script, reply wire.Reply) []plan.Warning {
	was, _ := sc.Result(reply, "relations")
	now, _ := sc.Result(reply, "relations after")
	before, after := switchesOf(was), switchesOf(now)
	var out []plan.Warning
	for _, oid := range sortedKeys(after) {
		a := after[oid]
		b, had := before[oid]
		if !had {
			continue
		}
		say := func(code, format string, args ...any) {
			out = append(out, plan.Warning{Code: code, Message: fmt.Sprintf(format, args...)})
		}
		owner := "every role but its owner (and superusers)"
		if a.force {
			owner = "every role, its owner too (but not superusers),"
		}
		switch {
		case a.security && !b.security && a.policies == "0":
			say(plan.WarnRowSecurity, "Row security is switched on for %s, which has no policy: %s sees and changes no row of it any more.", a.name, owner)
		case a.security && !b.security:
			say(plan.WarnRowSecurity, "Row security is switched on for %s: %s sees and changes only the rows that its policies (%s) show.", a.name, owner, a.policies)
		case a.force && !b.force && a.security:
			say(plan.WarnRowSecurity, "Row security of %s binds its owner as well from now on: it sees and changes only the rows that the policies (%s) show.", a.name, a.policies)
		case a.force && !b.force:
			say(plan.WarnRowSecurity, "Row security of %s will bind its owner as well, once it is switched on.", a.name)
		}
		for _, name := range sortedKeys(a.triggers) {
			state := a.triggers[name]
			if old, had := b.triggers[name]; !had || old == state {
				continue
			}
			say(plan.WarnTriggerSwitched, "The trigger %s of %s %s", sqlguard.QuoteIdent(name), a.name, triggerStates[state])
		}
	}
	return out
}

// triggerStates words pg_trigger.tgenabled (manual, ALTER TABLE, DISABLE/ENABLE TRIGGER).
var triggerStates = map[string]string{
	"O": "is switched on: it runs for every change from now on, except those that replication applies.",
	"A": "is switched on for all: it runs for every change from now on, also for those that replication applies.",
	"R": "runs only for changes that replication applies from now on: what it checks or writes no longer happens for anybody else.",
	"D": "is switched off: what it checks or writes no longer happens, whoever changes the table, until it is switched on again.",
}
