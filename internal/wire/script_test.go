package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

func TestScript(t *testing.T) {
	t.Parallel()
	var s wire.Script
	s.Add("begin", wire.Step{SQL: "BEGIN"})
	s.Add("run", wire.Step{SQL: "SELECT 1"})
	s.Add("after", wire.Step{SQL: "SELECT 2"})
	require.Len(t, s.Steps(), 3)
	require.Equal(t, "SELECT 1", s.Steps()[s.Index("run")].SQL)
	require.Equal(t, -1, s.Index("nothing"))

	one := wire.Result{Tag: "BEGIN"}
	failed := wire.Reply{Results: []wire.Result{one}, Err: &wire.ServerError{SQLState: "42601"}}
	require.Equal(t, "run", s.Failed(failed))
	require.Empty(t, s.Failed(wire.Reply{Results: []wire.Result{one}}), "no error, no step")
	require.Empty(t, s.Failed(wire.Reply{Results: []wire.Result{one, one, one}, Err: failed.Err}), "an error behind the last step")
	got, ok := s.Result(failed, "begin")
	require.True(t, ok)
	require.Equal(t, "BEGIN", got.Tag)
	for _, name := range []string{"run", "after", "nothing"} {
		_, ok = s.Result(failed, name)
		require.False(t, ok, name)
	}
}

func TestMarked(t *testing.T) {
	t.Parallel()
	m := wire.NewMark()
	require.NotEqual(t, m, wire.NewMark())
	require.Regexp(t, `^sw_[0-9a-f]{24}_$`, m, "it stands in SQL literals")
	e := &wire.ServerError{SQLState: "22P02", Message: `invalid input syntax for type integer: "` + m + `app."T"`}
	rest, ok := wire.Marked(e, m)
	require.True(t, ok)
	require.Equal(t, `app."T`, rest)
	for _, c := range []struct {
		e    *wire.ServerError
		mark string
	}{
		{nil, m},
		{e, wire.NewMark()},
		{e, ""},
		{&wire.ServerError{SQLState: "42601", Message: e.Message}, m},
	} {
		_, ok := wire.Marked(c.e, c.mark)
		require.False(t, ok)
	}
}

func TestArrays(t *testing.T) {
	t.Parallel()
	require.Equal(t, "{}", string(wire.OIDArray(nil)))
	require.Equal(t, "{1,4294967295}", string(wire.OIDArray([]uint32{1, 4294967295})))
	require.Equal(t, "{}", string(wire.TextArray(nil)))
	require.Equal(t, `{"","a,b","q\"\\"}`, string(wire.TextArray([]string{"", "a,b", `q"\`})))
}

func TestFactsOf(t *testing.T) {
	t.Parallel()
	b := func(s ...string) (row [][]byte) {
		for _, v := range s {
			row = append(row, []byte(v))
		}
		return row
	}
	require.Equal(t, []wire.Fact{{Kind: 'f', Key: "lower", Version: "7"}},
		wire.FactsOf(wire.Result{Rows: [][][]byte{b("f", "lower", "7"), b("ff", "x", "y"), b("f")}}))
}
