package mcpserver

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

func TestAdmissionCountsBytes(t *testing.T) {
	t.Parallel()
	var a admission
	raw := func(i int) json.RawMessage { return json.RawMessage(fmt.Sprint(i)) }
	// One line is always taken, however long; a second one beside it only if both fit.
	require.Nil(t, a.admit(raw(0), maxOpenBytes+1))
	require.Equal(t, refusal.TooBusy, a.admit(raw(1), 1).Code)
	a.answered([]byte(`{"jsonrpc":"2.0","id":0,"result":{}}`))
	for i := range 8 {
		require.Nil(t, a.admit(raw(i), maxOpenBytes/8))
	}
	require.Equal(t, refusal.TooBusy, a.admit(raw(8), 1).Code)
	a.answered([]byte(`{"jsonrpc":"2.0","id":3.0,"error":{"code":1,"message":"x"}}`)) // the same number
	require.Nil(t, a.admit(raw(8), 1))
	// An id that is used twice counts twice.
	require.Nil(t, a.admit(raw(8), 1))
	a.answered([]byte(`{"jsonrpc":"2.0","id":8,"result":{}}`))
	require.Equal(t, 8, a.calls)
	a.answered([]byte(`{"jsonrpc":"2.0","id":8,"result":{}}`))
	a.answered([]byte(`{"jsonrpc":"2.0","id":8,"result":{}}`))
	require.Equal(t, 7, a.calls)
	for i := range 8 {
		a.answered(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`, i))
	}
	require.Zero(t, a.calls)
	require.Zero(t, a.bytes)
	require.Empty(t, a.open)
}

func TestAnsweredID(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{"id":2}}`:                            `1`,
		`{"jsonrpc":"2.0","id":4,"result":{"x":` + "\x00 not read":              `4`,
		`{"jsonrpc":"2.0","id":"a\"b","error":{"code":1}}`:                      `"a\"b"`,
		`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`:    ``, // asks, and answers nothing
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"id":3}}`: ``,
		`{"jsonrpc":"2.0","result":{}}`:                                         ``,
		`{"jsonrpc":"2.0","id":7`:                                               ``,
		`[]`:                                                                    ``,
		``:                                                                      ``,
	} {
		require.Equal(t, want, string(answeredID([]byte(line))), line)
	}
}
