package sqlguard

import (
	"context"
	"flag"
	"os"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v5"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

var update = flag.Bool("update", false, "write the migration forms into docs/reference.md anew")

// The tables of migration forms in docs/reference.md are what the guard decides by. go test ./internal/sqlguard -run
// TestMigrationFormsAreInTheReference -update writes them anew.
func TestMigrationFormsAreInTheReference(t *testing.T) {
	t.Parallel()
	const (
		file  = "../../docs/reference.md"
		begin = "<!-- migration forms: generated from internal/sqlguard/migration_forms.go -->\n"
		end   = "<!-- end of migration forms -->\n"
	)
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(raw), begin)
	require.True(t, ok, "docs/reference.md has no place for the migration forms")
	written, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "the migration forms in docs/reference.md do not end")
	want := formsTable()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+begin+want+end+after), 0o644))
		return
	}
	require.Equal(t, want, written, "-update writes it anew")
}

func formsTable() string {
	var b strings.Builder
	b.WriteString("\n| taken | held against the write allowlist | against the read allowlist |\n|---|---|---|\n")
	refused := false
	for _, f := range MigrationForms() {
		if f.Code != "" && !refused {
			refused = true
			b.WriteString("\n| refused | with | because, and what to do instead |\n|---|---|---|\n")
		}
		if refused {
			b.WriteString("| " + f.Statement + " | `" + string(f.Code) + "` | " + f.Why + " " + f.Instead + " |\n")
		} else {
			b.WriteString("| " + f.Statement + " | " + f.Write + " | " + f.Read + " |\n")
		}
	}
	return b.String() + "\n"
}

// Every statement of the grammar is of exactly one form, taken or refused.
func TestEveryStatementHasAForm(t *testing.T) {
	t.Parallel()
	forms := map[string]int{}
	for _, f := range takenForms {
		for n := range strings.FieldsSeq(f.nodes) {
			forms[n]++
		}
		require.NotEmpty(t, f.Write, f.Statement)
	}
	for _, f := range refusedForms {
		for n := range strings.FieldsSeq(f.nodes) {
			forms[n]++
		}
		require.NotEmpty(t, f.code, f.statement)
		require.NotEmpty(t, f.why, f.statement)
		require.Regexp(t, `\.$`, f.instead, f.statement)
	}
	kinds := (&pg.Node{}).ProtoReflect().Descriptor().Oneofs().Get(0).Fields()
	seen := 0
	for i := range kinds.Len() {
		name := string(kinds.Get(i).Name())
		// raw_stmt wraps a statement, replica_identity_stmt is a part of ALTER TABLE.
		if !strings.HasSuffix(name, "_stmt") || name == "raw_stmt" || name == "replica_identity_stmt" {
			continue
		}
		seen++
		require.Equal(t, 1, forms[name], "%s is of no form, or of two", name)
	}
	require.Len(t, forms, seen, "a form names a statement that the grammar does not have")
}

// Every sub-command of ALTER TABLE is taken or refused by name; the rest the parser never makes.
func TestEverySubCommandHasAForm(t *testing.T) {
	t.Parallel()
	internal := map[pg.AlterTableType]bool{
		pg.AlterTableType_ALTER_TABLE_TYPE_UNDEFINED: true, pg.AlterTableType_AT_AddColumnToView: true, pg.AlterTableType_AT_CookedColumnDefault: true,
		pg.AlterTableType_AT_CheckNotNull: true, pg.AlterTableType_AT_AddIndex: true, pg.AlterTableType_AT_ReAddIndex: true, pg.AlterTableType_AT_ReAddConstraint: true,
		pg.AlterTableType_AT_ReAddDomainConstraint: true, pg.AlterTableType_AT_AddIndexConstraint: true, pg.AlterTableType_AT_ReAddComment: true,
		pg.AlterTableType_AT_ReplaceRelOptions: true, pg.AlterTableType_AT_ReAddStatistics: true,
	}
	refused := map[pg.AlterTableType]int{}
	for _, f := range refusedForms {
		for _, c := range f.commands {
			refused[c]++
		}
	}
	for n := range pg.AlterTableType_name {
		c, places := pg.AlterTableType(n), refused[pg.AlterTableType(n)]
		if alterForms[c] {
			places++
		}
		if internal[c] {
			places++
		}
		require.Equal(t, 1, places, "%s", c)
	}
}

// Every kind of object has an answer of its own: none falls through to the general one.
func TestEveryKindOfObjectHasAnAnswer(t *testing.T) {
	t.Parallel()
	general, _ := refusal.As(refuseUnknown())
	for n := range pg.ObjectType_name {
		o := pg.ObjectType(n)
		switch o {
		case pg.ObjectType_OBJECT_TYPE_UNDEFINED, pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_VIEW, pg.ObjectType_OBJECT_MATVIEW, pg.ObjectType_OBJECT_INDEX,
			pg.ObjectType_OBJECT_SEQUENCE, pg.ObjectType_OBJECT_TYPE, pg.ObjectType_OBJECT_DOMAIN,
			pg.ObjectType_OBJECT_COLUMN, pg.ObjectType_OBJECT_TABCONSTRAINT, pg.ObjectType_OBJECT_DOMCONSTRAINT, pg.ObjectType_OBJECT_DEFAULT:
			continue // taken; a default is no object that a statement names
		}
		r, ok := refusal.As(refuseObject(o))
		require.True(t, ok)
		require.NotEqual(t, general.Message, r.Message, "%s", o)
	}
}

// What docs/reference.md says is what is answered, word for word.
func TestRefusedFormsAnswerAsWritten(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	for _, f := range MigrationForms() {
		if f.Code != "" {
			said[f.Why+" "+f.Instead] = true
		}
	}
	var others []string
	for sql := range migrationFormsRefused {
		_, err := openGuard().Migration(context.Background(), newFake(), sql)
		r, ok := refusal.As(err)
		require.True(t, ok, sql)
		if r.Code == refusal.UnsupportedMigration && !said[r.Message+" "+r.Hint] {
			others = append(others, sql)
		}
	}
	require.ElementsMatch(t, []string{ // forms that are taken, with something inside that is not
		"create table x as execute a", "create view x as select * from orders for update",
		"create table x as with d as (delete from orders returning *) select * from d",
	}, others)
}
