package tools

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Prompt is a text that a person picks in the client, to begin a piece of work the way it goes well.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument
	// uses are the tools that the text speaks of: without one of them the prompt is not offered.
	uses []string
	text func(given map[string]string) string
}

// PromptArgument is one of a prompt's arguments; all are strings (MCP, "Prompts").
type PromptArgument struct {
	Name, Title, Description string
	Required                 bool
}

// TableArgument is the argument that names a table, in prompts and in the template of resources.
const TableArgument = "table"

// maxPromptArgument is how long one argument may be, in bytes; a migration is the longest.
const maxPromptArgument = 64 << 10

// PromptsOf returns the prompts whose tools are all shown. Where nothing is writable there are none:
// both are about changes.
func PromptsOf(d Deps) []Prompt {
	if d.NothingWritable {
		return nil
	}
	return slices.DeleteFunc([]Prompt{safeBulkChange(), reviewMigration()}, func(p Prompt) bool {
		return slices.ContainsFunc(p.uses, func(tool string) bool {
			shown, _ := d.Policy.Shows(tool)
			return !shown
		})
	})
}

// Render is the prompt's text with its arguments. INVALID_ARGUMENTS says which one is missing, unknown,
// blank or too long. MCP's library checks none of it.
func (p Prompt) Render(given map[string]string) (string, error) {
	usage := p.usage()
	for name, value := range given {
		switch {
		case !slices.ContainsFunc(p.Arguments, func(a PromptArgument) bool { return a.Name == name }):
			return "", invalid(usage, fmt.Sprintf("%.100q is not an argument of the prompt %s", name, p.Name))
		case len(value) > maxPromptArgument:
			return "", invalid(usage, fmt.Sprintf("%s: %d bytes are too long, at most %d are read", name, len(value), maxPromptArgument))
		case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
			return "", invalid(usage, name+": not a text")
		}
	}
	for _, a := range p.Arguments {
		if a.Required && strings.IndexFunc(given[a.Name], visible) < 0 {
			return "", missing(usage, a.Name)
		}
	}
	return p.text(given), nil
}

func (p Prompt) usage() string {
	parts := make([]string, len(p.Arguments))
	for i, a := range p.Arguments {
		parts[i] = a.Name + " (required)"
		if !a.Required {
			parts[i] = a.Name + " (optional)"
		}
	}
	return fmt.Sprintf("The prompt %s takes %s, each a text.", p.Name, strings.Join(parts, ", "))
}

// fenced sets a text apart, in a fence longer than any in it, so that no text can end it.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimSpace(text) + "\n" + fence
}

func safeBulkChange() Prompt {
	return Prompt{
		Name: "safe_bulk_change", Title: "Change many rows safely",
		Description: "Plan and carry out an UPDATE or DELETE of many rows: count first, preview, compare, then execute, in batches where it is more than the hard cap.",
		Arguments: []PromptArgument{
			{Name: "change", Title: "The change", Description: "What should change, in your own words: which rows, and what becomes of them.", Required: true},
			{Name: TableArgument, Title: "The table", Description: "The table as schema.table, if you know it."},
		},
		uses: []string{"describe_schema", "query", "delete_rows", "update_rows", "execute_plan"},
		text: func(given map[string]string) string {
			where := "Find out with describe_schema which table is meant."
			if table := given[TableArgument]; strings.IndexFunc(table, visible) >= 0 {
				where = "It is about this table; describe it with describe_schema first:\n\n" + fenced("", table)
			}
			return `Make this change in the database, so that nobody is surprised by it:

` + fenced("", given["change"]) + `

` + where + `

1. Look before you change. Read the columns, the foreign keys that point to the table (ON DELETE CASCADE takes other tables' rows along) and its triggers.
2. Write the condition, and count with query how many rows it meets. Show me the number and a few of the rows. If the number is not what I would expect from my words, ask me.
3. Preview with update_rows or delete_rows, with values in params. Compare affected_rows with your count, and read blast_radius: rows of tables that I did not name are for me to decide. Say what the warnings mean.
4. If a preview is HARD_MAX_ROWS_EXCEEDED, work in batches by a range of the primary key, each with its own preview. Do not try to get round the limit.
5. Execute with execute_plan what I agreed to, with statement and params exactly as the preview gave them. Where a person must approve, tell me what waits and give me approval_url.
6. Check with query afterwards, and tell me what changed in each table.

Stop and ask me as soon as a number is not the one you expected.`
		},
	}
}

func reviewMigration() Prompt {
	return Prompt{
		Name: "review_migration", Title: "Review a migration",
		Description: "Judge a DDL statement before anybody approves it: what it locks, rewrites, drops and breaks, by rehearsing it and rolling it back.",
		Arguments: []PromptArgument{
			{Name: "statement", Title: "The statement", Description: "One DDL statement, for example ALTER TABLE app.orders ADD COLUMN note text.", Required: true},
		},
		uses: []string{"describe_schema", "run_migration"},
		text: func(given map[string]string) string {
			return `Review this migration. Do not execute it.

` + fenced("sql", given["statement"]) + `

1. Describe the tables that it touches with describe_schema: size, indexes, foreign keys from and to them, triggers.
2. Rehearse it with run_migration, which runs it, measures it and rolls it back. If it is refused, explain the refusal and what could be done instead, and stop.
3. Report from facts and warnings:
   - which relations are locked, how strongly and for how long, and who waits meanwhile;
   - whether a table is rewritten or scanned, and how large it is;
   - what is dropped, also by CASCADE, and how many values are lost;
   - what the readonly role can no longer see.
4. Say whether the program that uses the tables keeps working while and after it runs, and how the change would be undone.
5. If there is a safer way (a nullable column first, NOT VALID and later VALIDATE, batches), write it down as single statements in their order.

Finish with one sentence: approve, approve at a quiet hour, or do not approve. The plan that run_migration made waits for a person; leave it to them.`
		},
	}
}
