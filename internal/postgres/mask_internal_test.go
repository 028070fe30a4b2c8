package postgres

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// The guard and the server's RowDescription must agree on what is masked; neither alone shows a value.
func TestMaskedOutputsNeedTheServersWord(t *testing.T) {
	t.Parallel()
	pg := pgtemp.New(t)
	pg.Exec(t, `CREATE TABLE public.people (id int, mail text, note text); INSERT INTO public.people VALUES (1, 'secret', 'n');
		GRANT SELECT ON public.people TO readonly, writer`)
	var masks []sqlguard.Mask
	m, err := sqlguard.ParseMask("public.people.mail", sqlguard.MaskHash)
	require.NoError(t, err)
	masks = append(masks, m)
	db, err := Open(t.Context(), Options{ReadonlyURL: pg.Readonly, WriterURL: pg.Writer, Masks: masks})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	guard := sqlguard.New(sqlguard.Policy{Masks: masks})
	oid64, err := strconv.ParseUint(pg.Query(t, "SELECT 'public.people'::regclass::oid::text")[0][0], 10, 32)
	require.NoError(t, err)
	oid := uint32(oid64)
	read := func(text string) *sqlguard.Statement {
		st, err := guard.Read(context.Background(), db.Readonly().Catalog(), text, nil)
		require.NoError(t, err)
		return st
	}
	id, mail, other, made := wire.Column{Table: oid, Number: 1}, wire.Column{Table: oid, Number: 2}, wire.Column{Table: oid + 1, Number: 2}, wire.Column{}
	row := wire.Column{Table: oid}
	const hash = sqlguard.MaskHash
	for _, c := range []struct {
		text    string
		columns []wire.Column
		want    []sqlguard.MaskAs // nil: refused
	}{
		{"SELECT mail FROM people", []wire.Column{mail}, []sqlguard.MaskAs{hash}},
		{"SELECT mail FROM people", []wire.Column{id}, nil},
		{"SELECT mail FROM people", []wire.Column{other}, nil},
		{"SELECT mail FROM people", []wire.Column{made}, nil},
		{"SELECT mail FROM people", []wire.Column{mail, id}, nil},
		{"SELECT mail FROM people", nil, nil},
		{"SELECT id FROM people", []wire.Column{id}, []sqlguard.MaskAs{""}},
		{"SELECT id FROM people", []wire.Column{mail}, []sqlguard.MaskAs{hash}},
		{"SELECT id FROM people", []wire.Column{row}, nil},
		{"SELECT mail FROM people, (SELECT 1 AS x) s", []wire.Column{mail}, []sqlguard.MaskAs{hash}},
		{"SELECT mail FROM people, (SELECT 1 AS x) s", []wire.Column{other}, []sqlguard.MaskAs{""}},
		{"SELECT mail FROM people, (SELECT 1 AS x) s", []wire.Column{made}, nil},
		{"SELECT * FROM people", []wire.Column{id, mail, made}, []sqlguard.MaskAs{"", hash, ""}},
		{"SELECT *, mail FROM people", []wire.Column{id, mail, made, mail}, []sqlguard.MaskAs{"", hash, "", hash}},
		{"SELECT *, mail FROM people", []wire.Column{id, mail, made, made}, nil},
		{"SELECT mail, * FROM people", []wire.Column{made, id, mail, made}, nil},
		{"SELECT mail, *, mail FROM people", []wire.Column{mail, id, mail}, []sqlguard.MaskAs{hash, "", hash}},
		{"SELECT mail, * FROM people", nil, nil},
	} {
		got, err := masksOf(read(c.text), c.columns)
		if c.want == nil {
			require.True(t, refusal.Is(err, refusal.MaskedColumn), "%s: %v", c.text, got)
			continue
		}
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, got, c.text)
	}
	// And on the wire: whatever the guard believed, the server's word masks.
	got, err := db.Readonly().Query(t.Context(), read("SELECT id, mail FROM people"), QueryLimits{})
	require.NoError(t, err)
	require.Regexp(t, `^"hash:`, string(got.Rows[0][1]))
	require.Equal(t, []MaskedColumn{{"mail", hash}}, got.Masked)
}
