package postgres

import (
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever the server prints for an array, what comes out is valid JSON and never a panic.
func FuzzRenderArray(f *testing.F) {
	for _, s := range []string{`{}`, `{1,2}`, `{{1,NULL},{3,4}}`, `[0:1]={a,b}`, `{"a\"b","\\",""}`, `{(1,2);(3,4)}`, `{`, `{"`, `{a`, `}{`, `{{}`, `[1]=`, "{\xff}", `{{{{{{{1}}}}}}}`} {
		f.Add([]byte(s), uint32(25))
		f.Add([]byte(s), uint32(3802))
	}
	f.Fuzz(func(t *testing.T, in []byte, elem uint32) {
		types := typeSet{1: {kind: kindArray, elem: elem}, elem: builtin[elem]}
		if elem == 1 {
			return
		}
		out := types.append(nil, in, types[1])
		if !json.Valid(out) || !utf8.Valid(out) {
			t.Fatalf("%q became %q", in, out)
		}
	})
}

func FuzzUnquote(f *testing.F) {
	for _, s := range []string{`"a"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\u0000"`, `"\n\t\/\\\""`, `"\udc00\ud800"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) < 2 || in[0] != '"' || in[len(in)-1] != '"' || !json.Valid(in) {
			return
		}
		got, err := unquote(in)
		if err != nil {
			return
		}
		var want string
		if json.Unmarshal(in, &want) != nil || want != string(got) {
			t.Fatalf("%q: got %q, want %q", in, got, want)
		}
	})
}

// Text given as a parameter and read back is the same text, also inside arrays.
func TestTextRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		list := rapid.SliceOf(rapid.Ptr(rapid.StringOf(rapid.RuneFrom([]rune("ab{},;\"\\ \n\tNUL'ä😀\u2028\u007f"))), true)).Draw(r, "list")
		in, err := json.Marshal(list)
		require.NoError(r, err)
		types := typeSet{25: {kind: kindText, delim: ','}}
		literal, err := types.arrayLiteral(nil, in, 25, 1)
		require.NoError(r, err)
		out, err := types.appendArray(nil, literal, 25)
		require.NoError(r, err)
		var back []*string
		require.NoError(r, json.Unmarshal(out, &back))
		require.Equal(r, len(list), len(back))
		for i := range list {
			require.Equal(r, list[i], back[i])
		}
	})
}

func TestShortenKeepsCharacters(t *testing.T) {
	t.Parallel()
	for limit := range 12 {
		out := shorten([]byte("aä😀bcü"), limit, 12)
		require.True(t, utf8.Valid(out), "%d: %q", limit, out)
		require.Contains(t, string(out), "… (12 bytes)")
	}
}

func TestIsNumber(t *testing.T) {
	t.Parallel()
	require.True(t, isNumber([]byte("-0")))
	require.True(t, isNumber([]byte("1e+20")))
	for _, s := range []string{"", "-", "NaN", "Infinity", "01", " 1", "1 ", "+1"} {
		require.False(t, isNumber([]byte(s)), "%q", s)
	}
}

// What is remembered of a type is forgotten after a while, and an array of which the elements were is
// asked for anew: a box in it has another delimiter.
func TestTypesAreForgotten(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c := typeCache{now: func() time.Time { return now }}
	require.False(t, c.collect(50_001, typeSet{}))
	c.put(typeSet{50_001: {kind: kindArray, elem: 50_000, name: "d[]"}, 50_000: {kind: kindText, name: "d", delim: ';'}})
	got := typeSet{}
	require.True(t, c.collect(50_001, got))
	require.Equal(t, byte(';'), got[50_000].delim)
	require.Len(t, got, 2)

	now = now.Add(typesTTL)
	require.False(t, c.collect(50_001, typeSet{}))
	c.put(typeSet{50_001: {kind: kindArray, elem: 50_000, name: "d[]"}})
	require.False(t, c.collect(50_001, typeSet{}), "the elements are not known")

	for i := range uint32(2 * maxTypes) {
		c.put(typeSet{60_000 + i: {}})
	}
	require.LessOrEqual(t, len(c.known), maxTypes+1)
}
