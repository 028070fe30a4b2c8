package sqlguard

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// What is called constant holds for every row on a real server, whatever the row: the smallest, the
// oddest, and one without any value that may be missing.
func TestConstantsHoldOnAServer(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, `
		CREATE TABLE customers (id bigint NOT NULL, tenant_id int NOT NULL, name text NOT NULL, email text, status text NOT NULL,
			last_login timestamptz, created_at timestamptz NOT NULL, tags text[], data jsonb, active bool NOT NULL);
		INSERT INTO customers VALUES
			(1, 1, 'a', 'a@b', 'new', now(), now(), '{a}', '{"a": 1}', true),
			(-9223372036854775808, -2147483648, '', '', '', '-infinity', 'infinity', '{}', 'null', false),
			(5, 0, E'\\%_\n', NULL, '%', NULL, '-infinity', NULL, NULL, false),
			(6, 7, 'Äß🙂', 'x', E'\t', NULL, now(), '{NULL}', '[]', true)`)
	conn, err := pgx.Connect(t.Context(), db.Super)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	for where, params := range constants {
		args := make([]any, len(params))
		for i, raw := range params {
			var v any
			require.NoError(t, json.Unmarshal(raw, &v))
			if s := strings.Trim(string(raw), `"`); v != nil {
				v = s
			}
			args[i] = v
		}
		var held, all int
		// The text form of the parameters, as the server's own codec sends them.
		rows := conn.PgConn().ExecParams(t.Context(), "SELECT count(*) FILTER (WHERE "+where+"\n), count(*) FROM customers", texts(args), nil, nil, nil).Read()
		if refusedByServer[where] {
			require.Error(t, rows.Err, where)
			continue
		}
		require.NoError(t, rows.Err, where)
		require.Len(t, rows.Rows, 1, where)
		require.NoError(t, json.Unmarshal(rows.Rows[0][0], &held))
		require.NoError(t, json.Unmarshal(rows.Rows[0][1], &all))
		require.Equal(t, all, held, "%s with %s is called constant and is not", where, params)
	}
}

// refusedByServer are constants in which the server finds no type for the parameter, or two.
var refusedByServer = map[string]bool{"$1::text is null or id = $1": true, "($1 is null) or (status =$1)": true}

func texts(args []any) [][]byte {
	out := make([][]byte, len(args))
	for i, a := range args {
		if s, ok := a.(string); ok {
			out[i] = []byte(s)
		}
	}
	return out
}
