package mcpserver

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestIDScanner(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"id":1}`:                                 `1`,
		`{"id" : "a\"b" , "x":1}`:                  ` "a\"b" `,
		`{"params":{"id":2},"id":3}`:               `3`,
		`{"params":"\"id\":4","id":5}`:             `5`,
		`{"params":["id",{"id":2}],"method":"id"}`: ``,
		`{"id":null}`:                              ``,
		`{"id":{"id":6}}`:                          ``,
		`{"id":[7]}`:                               ``,
		`{"id":true,"x":{"a":"}"}}`:                ``,
		`{"identity":8,"x":"id"}`:                  ``,
		`{"id":9,"id":10}`:                         `10`,
		`[{"id":11}]`:                              ``,
		``:                                         ``,
		`}}}}"id":12`:                              ``,
		`{"a":"\\","id":"13"}`:                     `"13"`,
		`{"jsonrpc":"2.0","id":14,"method":"x","p":[`: `14`,
	} {
		var s idScanner
		s.write([]byte(line))
		require.Equal(t, want, string(s.id()), line)
	}
}

// Whatever the bytes and however they are cut, the scanner neither panics nor keeps much.
func TestIDScannerNeverPanics(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s idScanner
		for _, part := range rapid.SliceOf(rapid.SliceOf(rapid.SampledFrom([]byte(`{}[]":,id\x1`)))).Draw(t, "parts") {
			s.write(part)
		}
		s.id()
		if len(s.value) > maxScannedID || len(s.key) > 3 {
			t.Fatalf("kept %d and %d bytes", len(s.value), len(s.key))
		}
	})
}
