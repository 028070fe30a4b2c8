package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/strictjson"
)

type nested struct {
	HardMaxRows int  `json:"hardMaxRows"`
	Enabled     bool `json:"enabled"`
}

type arguments struct {
	Table   string              `json:"table" required:"true"`
	Where   *string             `json:"where"`
	Limit   *int                `json:"limit"`
	Confirm bool                `json:"confirm"`
	Small   int32               `json:"small"`
	Columns []string            `json:"columns" lenient:"json"`
	Params  []json.RawMessage   `json:"params" lenient:"json"`
	Rows    [][]json.RawMessage `json:"rows" lenient:"json"`
	Set     strictjson.Object   `json:"set" lenient:"json"`
	Strict  []string            `json:"strict"`
	Write   nested              `json:"write"`
	Any     json.RawMessage     `json:"any"`
	hidden  string
}

func TestDecodeTakesWhatFits(t *testing.T) {
	t.Parallel()
	var a arguments
	require.NoError(t, strictjson.Decode([]byte(` {"table":"t\u00e9","where":null,"limit":5,"confirm":true,"small":-0,
		"columns":["a","b"],"params":[1.50,null,{"b":1,"a":[9007199254740993]},"x"],"rows":[[1],[]],
		"set":{"z":1,"a": {"k":2}},"write":{"hardMaxRows":7,"enabled":false},"any":null} `), &a))
	require.Equal(t, "té", a.Table)
	require.Nil(t, a.Where)
	require.Equal(t, 5, *a.Limit)
	require.True(t, a.Confirm)
	require.Equal(t, []string{"a", "b"}, a.Columns)
	require.Equal(t, []json.RawMessage{[]byte("1.50"), []byte("null"), []byte(`{"b":1,"a":[9007199254740993]}`), []byte(`"x"`)}, a.Params)
	require.Equal(t, [][]json.RawMessage{{[]byte("1")}, {}}, a.Rows)
	require.Equal(t, strictjson.Object{{Name: "z", Value: []byte("1")}, {Name: "a", Value: []byte(`{"k":2}`)}}, a.Set)
	require.Equal(t, nested{HardMaxRows: 7}, a.Write)
	require.Equal(t, "null", string(a.Any))
	require.Nil(t, a.Strict)
	require.Empty(t, a.hidden)
}

// Raw values must not share memory with the text: callers reuse their buffers.
func TestDecodeCopiesRawValues(t *testing.T) {
	t.Parallel()
	data := []byte(`{"table":"t","params":[12345],"any":"abc"}`)
	var a arguments
	require.NoError(t, strictjson.Decode(data, &a))
	for i := range data {
		data[i] = 'X'
	}
	require.Equal(t, "12345", string(a.Params[0]))
	require.Equal(t, `"abc"`, string(a.Any))
}

func TestDecodeTakesJSONInStringsOnlyWhereAllowed(t *testing.T) {
	t.Parallel()
	var a arguments
	require.NoError(t, strictjson.Decode([]byte(`{"table":"t","columns":"[\"a\"]","params":" [1, \"[2]\"] ","rows":"[[1,2]]","set":"{\"b\":1,\"a\":9007199254740993}"}`), &a))
	require.Equal(t, []string{"a"}, a.Columns)
	require.Equal(t, []json.RawMessage{[]byte("1"), []byte(`"[2]"`)}, a.Params)
	require.Len(t, a.Rows, 1)
	require.Equal(t, strictjson.Object{{Name: "b", Value: []byte("1")}, {Name: "a", Value: []byte("9007199254740993")}}, a.Set)
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", strictjson.MaxDepth) + strings.Repeat("]", strictjson.MaxDepth)
	for name, c := range map[string]struct{ text, want string }{
		"nothing":               {"", "is empty where JSON was expected"},
		"white space":           {" \n", "is empty where JSON was expected"},
		"null":                  {"null", "must be an object, not null"},
		"array":                 {"[]", "must be an object, not an array"},
		"string":                {`"{}"`, "must be an object, not a string"},
		"cut":                   {`{"table":"t"`, "is not complete JSON: the text ends too early"},
		"trailing":              {`{"table":"t"} {}`, "has more data behind the JSON value"},
		"trailing garbage":      {`{"table":"t"} x`, "has more data behind the JSON value"},
		"syntax":                {`{"table":tru}`, "table: is not valid JSON"},
		"comment":               {`{/**/"table":"t"}`, "is not valid JSON"},
		"broken UTF-8":          {"{\"table\":\"\xff\"}", "is not valid JSON: invalid UTF-8"},
		"lone surrogate":        {`{"table":"\ud800"}`, "table: is not valid JSON"},
		"missing":               {`{}`, `"table" is required`},
		"unknown":               {`{"table":"t","whre":"x"}`, `unknown field "whre"; did you mean "where"?`},
		"unknown, case":         {`{"Table":"t"}`, `unknown field "Table"; did you mean "table"?`},
		"unknown, unlike all":   {`{"table":"t","approved":true}`, `unknown field "approved"; known here: table, where, limit`},
		"unknown, nested":       {`{"table":"t","write":{"hardMaxRow":5}}`, `write: unknown field "hardMaxRow"; did you mean "hardMaxRows"?`},
		"unexported":            {`{"table":"t","hidden":"x"}`, `unknown field "hidden"`},
		"empty name":            {`{"table":"t","":1}`, `unknown field ""`},
		"duplicate":             {`{"table":"t","table":"t"}`, `key "table" is given twice`},
		"duplicate, escaped":    {`{"table":"t","t\u0061ble":"t"}`, `key "table" is given twice`},
		"duplicate in raw":      {`{"table":"t","params":[1,{"a":{"b":1,"b":2}}]}`, `params[1].a: key "b" is given twice`},
		"duplicate in set":      {`{"table":"t","set":{"a.b":1,"a.b":2}}`, `set: key "a.b" is given twice`},
		"string for bool":       {`{"table":"t","confirm":"true"}`, `confirm: must be true or false, not the string "true": leave out the quotes`},
		"number for bool":       {`{"table":"t","confirm":1}`, `confirm: must be true or false, not a number`},
		"null for bool":         {`{"table":"t","confirm":null}`, `confirm: must be true or false, not null`},
		"string for int":        {`{"table":"t","limit":"5"}`, `limit: must be an integer, not the string "5": leave out the quotes`},
		"fraction for int":      {`{"table":"t","limit":5.0}`, `limit: must be an integer without fraction or exponent, not 5.0`},
		"exponent for int":      {`{"table":"t","limit":5e0}`, `limit: must be an integer without fraction or exponent, not 5e0`},
		"too large":             {`{"table":"t","limit":9223372036854775808}`, `limit: 9223372036854775808 is out of range`},
		"too large for 32 bit":  {`{"table":"t","small":2147483648}`, `small: 2147483648 is out of range`},
		"number for string":     {`{"table":1}`, `table: must be a string, not a number`},
		"true for string":       {`{"table":true}`, `table: must be a string, not true`},
		"null for string":       {`{"table":null}`, `table: must be a string, not null`},
		"null for slice":        {`{"table":"t","params":null}`, `params: must be an array, not null`},
		"element":               {`{"table":"t","columns":["a",2]}`, `columns[1]: must be a string, not a number`},
		"row":                   {`{"table":"t","rows":[[1],{"a":1}]}`, `rows[1]: must be an array, not an object`},
		"inner row as string":   {`{"table":"t","rows":["[1]"]}`, `rows[0]: must be an array, not a string`},
		"null for object":       {`{"table":"t","set":null}`, `set: must be an object, not null`},
		"array for object":      {`{"table":"t","set":[1]}`, `set: must be an object, not an array`},
		"string, not lenient":   {`{"table":"t","strict":"[]"}`, `strict: must be an array, not a string`},
		"lenient, word":         {`{"table":"t","params":"x"}`, `params: must be an array, not a string`},
		"lenient, empty":        {`{"table":"t","params":""}`, `params: must be an array, not a string`},
		"lenient, object":       {`{"table":"t","params":"{}"}`, `params: must be an array, not a string`},
		"lenient, broken":       {`{"table":"t","params":"[1,"}`, `params: is a string that does not hold an array as JSON`},
		"lenient, duplicate":    {`{"table":"t","set":"{\"a\":1,\"a\":2}"}`, `set: is a string that does not hold an object as JSON: key "a" is given twice`},
		"lenient, trailing":     {`{"table":"t","params":"[1] [2]"}`, `params: is a string that does not hold an array as JSON: has more data`},
		"lenient, wrong inside": {`{"table":"t","columns":"[1]"}`, `columns[0]: must be a string, not a number`},
		"too deep":              {`{"table":"t","any":` + deep + `}`, "is nested more than 128 levels deep"},
		"too deep, in a string": {`{"table":"t","params":"[` + deep + `]"}`, "is nested more than 128 levels deep"},
		"very deep":             {strings.Repeat(`{"any":`, 100_000), "is nested more than 128 levels deep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a arguments
			err := strictjson.Decode([]byte(c.text), &a)
			var own *strictjson.Error
			require.ErrorAs(t, err, &own)
			require.Contains(t, err.Error(), c.want)
		})
	}
}

func TestErrorsName(t *testing.T) {
	t.Parallel()
	var a arguments
	var own *strictjson.Error
	require.ErrorAs(t, strictjson.Decode([]byte(`{"table":"t","write":{"hardMaxRow":5}}`), &a), &own)
	require.Equal(t, "write", own.Path)
	require.Equal(t, "hardMaxRow", own.Field)
	require.Equal(t, `set["a b"].c`, strictjson.Join(strictjson.Join("set", "a b"), "c"))
}

func TestMembers(t *testing.T) {
	t.Parallel()
	members, err := strictjson.Members([]byte(` {"b": {"x":1.0}, "a":null} `))
	require.NoError(t, err)
	require.Equal(t, strictjson.Object{{Name: "b", Value: []byte(`{"x":1.0}`)}, {Name: "a", Value: []byte("null")}}, members)
	for _, text := range []string{"", "[]", "null", `{"a":1,"a":2}`, `{} {}`} {
		_, err := strictjson.Members([]byte(text))
		var own *strictjson.Error
		require.ErrorAs(t, err, &own)
	}
}

// A mistake of the programmer is not the agent's: no *Error.
func TestDecodeIntoTheWrongType(t *testing.T) {
	t.Parallel()
	var own *strictjson.Error
	for _, into := range []any{nil, arguments{}, new(string), (*arguments)(nil), new(struct {
		M map[string]int `json:"m"`
	})} {
		err := strictjson.Decode([]byte(`{"m":{}}`), into)
		require.Error(t, err)
		require.NotErrorAs(t, err, &own)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"where", "params", "planTtlMs", "confirm_full_table", "set"}
	for given, want := range map[string]string{
		"wehre": "where", "WHERE": "where", "plan_ttl_ms": "planTtlMs", "parms": "params", "confirmFullTable": "confirm_full_table",
		"sets": "set", "approved": "", "x": "", "": "", strings.Repeat("where", 1000): "",
	} {
		require.Equal(t, want, strictjson.Nearest(given, known), given)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"table":"t","params":"[1]","set":{"a":1},"rows":[[1]]}`))
	f.Add([]byte(`{"table":"t","write":{"hardMaxRow":5}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var a arguments
		err := strictjson.Decode(data, &a)
		if err == nil {
			require.True(t, json.Valid(data))
			return
		}
		var own *strictjson.Error
		require.ErrorAs(t, err, &own)
	})
}
