package tools

import "encoding/json"

// The schemas are literals in the plain subset of draft 2020-12 that every client takes: no type
// is a list (Cursor and Gemini refuse unions), every array has items (VS Code and OpenAI drop the
// tool without them), nothing is referenced. See TestSchemasArePlain.

// One value: alternatives of single types. Arrays may nest twice; deeper ones can be given as
// Postgres' own text ('{{{1}}}').
const (
	scalars    = `{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"null"}`
	anyObject  = `{"type":"object","additionalProperties":true}`
	innerArray = `{"type":"array","items":{"anyOf":[` + scalars + `]}}`
	oneArray   = `{"type":"array","items":{"anyOf":[` + scalars + `,` + anyObject + `,` + innerArray + `]}}`
	anyValue   = `{"anyOf":[` + scalars + `,` + anyObject + `,` + oneArray + `]}`
)

const (
	reasonProperty = `"reason":{"type":"string","description":"One sentence: what this is for. Shown to the person who may have to decide, and kept in the audit log."}`
	paramsProperty = `"params":{"type":"array","description":"Values for $1, $2, … in order; every placeholder from $1 up must occur. Give integers beyond 2^53 and exact decimals as strings. An object becomes JSON; an array becomes a Postgres array, or JSON where the target is json/jsonb.","items":` + anyValue + `}`
	tableProperty  = `"table":{"type":"string","description":"The table as schema.table. Names that need quotes take them: app.\"Order Items\"."}`
	whereProperty  = `"where":{"type":"string","description":"The condition, as it would stand behind WHERE, with placeholders $1, $2, … for values: tenant_id = $1 AND status = 'test'. Sub-selects may read allowlisted tables. Leave out the word WHERE."}`
	fullProperty   = `"confirm_full_table":{"type":"boolean","description":"Must be true when every row of the table is meant and there is no condition. It never replaces a person's decision."}`
)

// object is the schema of a tool's arguments.
func object(required, properties string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`)
}
