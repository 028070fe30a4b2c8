package sqlguard

import (
	"encoding/json"
	"fmt"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/strictjson"
)

// safeParams readies the agent's values: numbers that a JavaScript client could not echo exactly
// become strings of their digits. It refuses what is no JSON, more than the protocol can carry, and
// U+0000 is left to the server, which refuses it cleanly.
func safeParams(params []json.RawMessage) ([]json.RawMessage, error) {
	if len(params) > maxParams {
		return nil, refusal.New(refusal.InvalidInput,
			fmt.Sprintf("There are %d params; Postgres takes at most %d.", len(params), maxParams),
			"Send a list as one array parameter: `column = ANY($1)`.")
	}
	out := make([]json.RawMessage, len(params))
	for i, p := range params {
		if !json.Valid(p) {
			return nil, refusal.New(refusal.InvalidArguments, fmt.Sprintf("params[%d] is not a JSON value.", i), "Send a JSON value.")
		}
		out[i] = strictjson.SafeNumber(p)
	}
	return out, nil
}

// checkParams insists that $1..$n all occur and that n is the number of params.
func checkParams(used map[int]bool, given int) error {
	highest := 0
	for n := range used {
		highest = max(highest, n)
	}
	for n := 1; n <= highest; n++ {
		if !used[n] {
			return refusal.New(refusal.InvalidInput, fmt.Sprintf("The text uses $%d but not $%d.", highest, n),
				"Number parameters from $1 on, without gaps.")
		}
	}
	if highest != given {
		return refusal.New(refusal.InvalidInput,
			fmt.Sprintf("The text uses %d parameter(s) and params has %d.", highest, given),
			"Give one value in params for each of $1..$n; a value that is used twice has one number.")
	}
	return nil
}
