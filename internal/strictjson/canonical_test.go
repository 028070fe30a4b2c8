package strictjson_test

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jpka/sw-postgres-mcp/internal/strictjson"
)

func canonical(t testing.TB, text string) string {
	t.Helper()
	out, err := strictjson.Canonical([]byte(text))
	require.NoError(t, err, text)
	return string(out)
}

func TestCanonicalForms(t *testing.T) {
	t.Parallel()
	for want, texts := range map[string][]string{
		`0`:                       {"0", "-0", "0.0", "0e5", "-0.00e-999999999999999999999999"},
		`1`:                       {"1", "1.0", "1e0", "10e-1", "0.1e1", "0.001E+3", "1000e-3"},
		`-12e2`:                   {"-1200", "-1.2e3", "-1200.000"},
		`9007199254740993`:        {"9007199254740993", "9007199254740993.0", "9.007199254740993e15"},
		`9007199254740992`:        {"9007199254740992"},
		`15e-1`:                   {"1.5", "1.50", "15e-1"},
		`1e99999999999999999999`:  {"1e99999999999999999999", "10e99999999999999999998", "0.1e100000000000000000000"},
		`1e-99999999999999999999`: {"1e-99999999999999999999"},
		`"é\n\u0000/"`:            {`"é\n\u0000/"`, `"\u00e9\u000a\u0000\/"`},
		`{"a":[1,null,true],"b":"x","é":{}}`: {
			`{"a":[1,null,true],"b":"x","é":{}}`, ` { "b" : "\u0078", "\u00e9":{} , "\u0061" : [ 1.0 , null, true ] } `,
		},
		`"1"`: {`"1"`},
		`[]`:  {`[ ]`},
	} {
		for _, text := range texts {
			require.Equal(t, want, canonical(t, text), text)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "x", "1 2", `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, "01", "+1", "1.", ".5", "NaN", "\"\xff\"", `"\ud800"`,
		"1e" + strings.Repeat("9", 100_000), strings.Repeat("[", 200) + strings.Repeat("]", 200),
	} {
		_, err := strictjson.Canonical([]byte(text))
		var own *strictjson.Error
		require.ErrorAs(t, err, &own)
	}
}

func TestSafeNumber(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"1": "1", "1.50": "1.50", "-0": "-0", "9007199254740991": "9007199254740991", "-9007199254740991": "-9007199254740991",
		"9007199254740991.000": "9007199254740991.000", "9.007199254740991e15": "9.007199254740991e15", "1e-400": "1e-400",
		"9007199254740992": `"9007199254740992"`, "-9007199254740993": `"-9007199254740993"`,
		"9007199254740991.5": `"9007199254740991.5"`, "9007199254740990.9": "9007199254740990.9",
		"9007199254740993.50": `"9007199254740993.50"`, "1e15": "1e15", "1e16": `"10000000000000000"`, "1e+20": `"100000000000000000000"`,
		"100000000000000000000": `"100000000000000000000"`, "1.25e20": `"125000000000000000000"`, "-12345678901234567.5e0": `"-12345678901234567.5"`,
		"1e5000": `"1e5000"`, "10E4999": `"1e5000"`,
		`"9007199254740993"`: `"9007199254740993"`, "null": "null", "true": "true", "[9007199254740993]": "[9007199254740993]",
		" 9007199254740993 ": `"9007199254740993"`, "not json": "not json", "": "",
	} {
		got := strictjson.SafeNumber(json.RawMessage(given))
		require.Equal(t, want, string(got), given)
		require.Equal(t, want, string(strictjson.SafeNumber(got)), "twice: %s", given)
	}
	absurd := "1e" + strings.Repeat("9", 5000)
	require.Equal(t, absurd, string(strictjson.SafeNumber(json.RawMessage(absurd))))
}

// Two numbers have equal canonical bytes exactly if they are equal as rationals.
func TestCanonicalNumbersAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		numberText := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`)
		a, b := numberText.Draw(t, "a"), numberText.Draw(t, "b")
		if rapid.Bool().Draw(t, "near") {
			b = a + "0"
			if !strings.ContainsAny(a, ".eE") {
				b = a + ".0"
			}
		}
		x, ok := new(big.Rat).SetString(a)
		require.True(t, ok)
		y, ok := new(big.Rat).SetString(b)
		require.True(t, ok)
		ca, err := strictjson.Canonical([]byte(a))
		require.NoError(t, err)
		cb, err := strictjson.Canonical([]byte(b))
		require.NoError(t, err)
		require.Equal(t, x.Cmp(y) == 0, string(ca) == string(cb), "%s and %s", a, b)
		back, ok := new(big.Rat).SetString(string(ca))
		require.True(t, ok)
		require.Zero(t, x.Cmp(back))

		safe := string(strictjson.SafeNumber(json.RawMessage(a)))
		limit := new(big.Rat).SetInt64(1<<53 - 1)
		require.Equal(t, new(big.Rat).Abs(x).Cmp(limit) > 0, strings.HasPrefix(safe, `"`), a)
		kept, ok := new(big.Rat).SetString(strings.Trim(safe, `"`))
		require.True(t, ok)
		require.Zero(t, x.Cmp(kept))
	})
}

// The oracle: encoding/json with exact numbers, an independent reader of the same texts.
func tree(t testing.TB, text []byte) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	var v any
	require.NoError(t, dec.Decode(&v))
	var walk func(any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case json.Number:
			if r, ok := new(big.Rat).SetString(string(v)); ok {
				return "number " + r.String()
			}
			return "number " + string(v)
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = walk(v[k])
			}
		case string:
			return "string " + v
		}
		return v
	}
	return walk(v)
}

var exponent = regexp.MustCompile(`[0-9][eE]`)

// FuzzCanonical: idempotent, keeps the value, and differing values differ.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		`{"b":1,"a":[1.0,-0,1e2,"x\u0000",null,true]}`, "9007199254740993", "9007199254740992", `"1"`, "1", "[]", "{}", `{"a":{"b":{}}}`,
		"1e-99999999999", "123456789.123456789e-12", `"\ud83d\ude00"`,
	} {
		f.Add([]byte(s), []byte("1.0"))
		f.Add([]byte(s), []byte(s+" "))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		ca, err := strictjson.Canonical(a)
		if err != nil {
			return
		}
		again, err := strictjson.Canonical(ca)
		require.NoError(t, err)
		require.Equal(t, string(ca), string(again))
		if exponent.Match(a) || exponent.Match(b) {
			return // big.Rat would write huge exponents out; numbers have their own test
		}
		require.Equal(t, tree(t, a), tree(t, ca))
		cb, err := strictjson.Canonical(b)
		if err != nil {
			return
		}
		if string(ca) == string(cb) {
			require.Equal(t, tree(t, a), tree(t, b))
		} else {
			require.NotEqual(t, tree(t, a), tree(t, b))
		}
	})
}
