package tools_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/tools"
)

func compile(t *testing.T, tool tools.Tool) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(tool.Schema))
	require.NoError(t, err, tool.Name)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	require.NoError(t, c.AddResource(tool.Name+".json", doc))
	s, err := c.Compile(tool.Name + ".json") // checks against the metaschema
	require.NoError(t, err, tool.Name)
	return s
}

// Every client can take the schemas: draft 2020-12, and of it only what OpenAI, Gemini, Cursor and
// VS Code take too.
func TestSchemasArePlain(t *testing.T) {
	t.Parallel()
	allowed := []string{"type", "properties", "required", "additionalProperties", "description", "items", "anyOf", "enum"}
	for _, tool := range tools.All(tools.Deps{}) {
		t.Run(tool.Name, func(t *testing.T) {
			t.Parallel()
			compile(t, tool)
			var root map[string]any
			require.NoError(t, json.Unmarshal(tool.Schema, &root))
			require.Equal(t, "object", root["type"])
			require.Equal(t, false, root["additionalProperties"])
			properties, _ := root["properties"].(map[string]any)
			for name, p := range properties {
				require.NotEmpty(t, p.(map[string]any)["description"], name)
			}
			for _, r := range root["required"].([]any) {
				require.Contains(t, properties, r)
			}
			var walk func(path string, node any)
			walk = func(path string, node any) {
				m, ok := node.(map[string]any)
				require.True(t, ok, "%s: a schema must be an object", path)
				for key, v := range m {
					require.Contains(t, allowed, key, path)
					switch key {
					case "properties":
						for name, p := range v.(map[string]any) {
							walk(path+"."+name, p)
						}
					case "items":
						walk(path+"[]", v)
					case "anyOf":
						require.NotContains(t, m, "type", path)
						for _, alternative := range v.([]any) {
							walk(path+"|", alternative)
						}
					case "additionalProperties":
						if _, isBool := v.(bool); !isBool {
							walk(path+".*", v)
						}
					}
				}
				if _, alternatives := m["anyOf"]; alternatives {
					return
				}
				kind, ok := m["type"].(string)
				require.True(t, ok, "%s: type must be one word", path)
				if kind == "array" {
					require.Contains(t, m, "items", path)
				}
				if kind == "object" && path != tool.Name {
					require.Contains(t, m, "additionalProperties", path)
				}
			}
			walk(tool.Name, root)
		})
	}
}

func TestSchemasAskForAReason(t *testing.T) {
	t.Parallel()
	for _, tool := range tools.All(tools.Deps{}) {
		var s struct {
			Required   []string
			Properties map[string]any
		}
		require.NoError(t, json.Unmarshal(tool.Schema, &s))
		optional := tool.Name == "describe_schema" || tool.Name == "execute_plan"
		require.Equal(t, !optional, slices.Contains(s.Required, "reason"), tool.Name)
		require.Contains(t, s.Properties, "reason")
	}
}

// The schema and the decoder agree, apart from the strings that hold JSON, which only the decoder
// takes.
func TestSchemasAgreeWithTheDecoder(t *testing.T) {
	t.Parallel()
	for tool, arguments := range accepted {
		for _, a := range arguments {
			b := setup(t)
			s := compile(t, b.tools[tool])
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(a))
			require.NoError(t, err)
			require.NoError(t, s.Validate(doc), "%s %s", tool, a)
		}
	}
	for _, c := range refusedArguments {
		if c.schema {
			b := setup(t)
			s := compile(t, b.tools[c.tool])
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(c.arguments))
			require.NoError(t, err)
			require.Error(t, s.Validate(doc), "%s %s", c.tool, c.arguments)
		}
	}
}

// What each of the big clients wants beside TestSchemasArePlain. OpenAI, functions: names of [a-zA-Z0-9_-] up to 64, at
// most 5 levels of objects and 100 properties. Gemini, function declarations: names that begin with a letter or underscore,
// enums of text only, no null as a default. Cursor: server and tool name together at most 60. VS Code: at most 128 tools.
func TestToolsFitEveryClient(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)
	all := tools.All(tools.Deps{NothingWritable: true}) // the longest texts there are
	require.LessOrEqual(t, len(all), 128)
	seen := map[string]bool{}
	for _, tool := range all {
		require.Regexp(t, name, tool.Name)
		require.LessOrEqual(t, len("sw-postgres-mcp")+1+len(tool.Name), 60, tool.Name)
		require.False(t, seen[strings.ToLower(tool.Name)], "%s twice", tool.Name)
		seen[strings.ToLower(tool.Name)] = true
		require.LessOrEqual(t, len([]rune(tool.Title)), 64, tool.Name)
		require.NotEmpty(t, tool.Title)
		require.LessOrEqual(t, len([]rune(tool.Description)), 2000, tool.Name)
		require.LessOrEqual(t, len(tool.Schema), 4096, "%s: some clients cut long schemas", tool.Name)
		require.True(t, utf8.ValidString(tool.Description))
		require.NotContains(t, tool.Description, "\x00")
		require.NotRegexp(t, `\$(ref|defs|schema|id)`, string(tool.Schema), tool.Name)

		properties, depth := 0, 0
		var walk func(node any, level int)
		walk = func(node any, level int) {
			depth = max(depth, level)
			m, _ := node.(map[string]any)
			for key, v := range m {
				switch key {
				case "properties":
					for property, p := range v.(map[string]any) {
						properties++
						require.Regexp(t, name, property, tool.Name)
						walk(p, level+1)
					}
				case "items", "additionalProperties":
					walk(v, level+1)
				case "anyOf":
					require.LessOrEqual(t, len(v.([]any)), 8, tool.Name)
					for _, alternative := range v.([]any) {
						walk(alternative, level)
					}
				case "enum":
					for _, value := range v.([]any) {
						require.IsType(t, "", value, tool.Name)
						require.NotEmpty(t, value, tool.Name)
					}
					require.Equal(t, "string", m["type"], tool.Name)
				case "required":
					require.NotNil(t, v, tool.Name)
				case "description":
					require.LessOrEqual(t, len([]rune(v.(string))), 1024, tool.Name)
				}
			}
		}
		var root any
		require.NoError(t, json.Unmarshal(tool.Schema, &root))
		walk(root, 0)
		require.LessOrEqual(t, properties, 100, tool.Name)
		require.LessOrEqual(t, depth, 5, "%s: levels", tool.Name)
	}
}
