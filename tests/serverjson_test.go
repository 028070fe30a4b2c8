package tests

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/config"
)

// manifest is server.json of the MCP registry, schema 2025-12-11, as far as this server uses it. It
// is decoded strictly: a field that is not here is a mistake or a reason to look at the schema.
type manifest struct {
	Schema      string `json:"$schema"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Version     string `json:"version"`
	WebsiteURL  string `json:"websiteUrl"`
	Repository  struct {
		URL       string `json:"url"`
		Source    string `json:"source"`
		ID        string `json:"id"`
		Subfolder string `json:"subfolder"`
	} `json:"repository"`
	Packages []manifestPackage `json:"packages"`
}

type manifestPackage struct {
	RegistryType    string `json:"registryType"`
	RegistryBaseURL string `json:"registryBaseUrl"`
	Identifier      string `json:"identifier"`
	Version         string `json:"version"`
	FileSHA256      string `json:"fileSha256"`
	RuntimeHint     string `json:"runtimeHint"`
	Transport       struct {
		Type string `json:"type"`
	} `json:"transport"`
	RuntimeArguments     []manifestArgument `json:"runtimeArguments"`
	PackageArguments     []manifestArgument `json:"packageArguments"`
	EnvironmentVariables []manifestInput    `json:"environmentVariables"`
}

// manifestInput is the schema's KeyValueInput.
type manifestInput struct {
	Name        string                   `json:"name"`
	Description string                   `json:"description"`
	Format      string                   `json:"format"`
	Default     string                   `json:"default"`
	Value       string                   `json:"value"`
	Placeholder string                   `json:"placeholder"`
	IsRequired  bool                     `json:"isRequired"`
	IsSecret    bool                     `json:"isSecret"`
	Choices     []string                 `json:"choices"`
	Variables   map[string]manifestInput `json:"variables"`
}

// manifestArgument is the schema's Argument, positional or named.
type manifestArgument struct {
	manifestInput
	Type       string `json:"type"`
	ValueHint  string `json:"valueHint"`
	IsRepeated bool   `json:"isRepeated"`
}

func readManifest(t *testing.T) manifest {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(docText(t, "server.json"))))
	d.DisallowUnknownFields()
	var m manifest
	require.NoError(t, d.Decode(&m))
	_, err := d.Token()
	require.ErrorIs(t, err, io.EOF, "something stands behind the object")
	return m
}

// The identity and the limits of the schema.
func TestServerJSONIdentity(t *testing.T) {
	t.Parallel()
	m := readManifest(t)
	require.Equal(t, "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", m.Schema)
	require.Equal(t, "io.github.jpka/sw-postgres-mcp", m.Name)
	require.Equal(t, versionConst(t), m.Version, "server.json and cmd/sw-postgres-mcp/version.go")
	require.NotEmpty(t, m.Description)
	require.LessOrEqual(t, len([]rune(m.Description)), 100, "the schema's limit")
	require.LessOrEqual(t, len([]rune(m.Title)), 100, "the schema's limit")
	require.Equal(t, "https://github.com/jpka/sw-postgres-mcp", m.Repository.URL)
	require.Equal(t, "github", m.Repository.Source)
	require.Equal(t, "https://"+modulePath, m.Repository.URL, "the module and its repository")
}

// The package: this server over stdio, in this version, from a place that carries its name.
func TestServerJSONPackages(t *testing.T) {
	t.Parallel()
	m := readManifest(t)
	require.NotEmpty(t, m.Packages)
	for _, p := range m.Packages {
		require.Equal(t, "stdio", p.Transport.Type)
		require.Contains(t, p.Identifier, "jpka/sw-postgres-mcp")
		switch p.RegistryType {
		case "oci":
			// The registry takes the version from the tag and refuses both.
			require.Regexp(t, `^[a-z0-9.-]+/jpka/sw-postgres-mcp:`+regexp.QuoteMeta(m.Version)+`$`, p.Identifier)
			require.Empty(t, p.Version)
			require.Empty(t, p.RegistryBaseURL)
			require.Contains(t, docText(t, "Dockerfile"), m.Name, "the image must carry the label io.modelcontextprotocol.server.name, else the registry refuses it")
		case "mcpb":
			require.Contains(t, p.Identifier, m.Version)
			require.Regexp(t, `^[0-9a-f]{64}$`, p.FileSHA256)
		default:
			t.Errorf("registry type %q: say here what must hold for it", p.RegistryType)
		}
		for _, a := range p.PackageArguments {
			require.Contains(t, []string{"positional", "named"}, a.Type)
		}
	}
}

// The variables: one for every key that has one and is built, and no other; each is described; a
// connection string is a secret and required, nothing else is required; defaults are the code's.
func TestServerJSONVariables(t *testing.T) {
	t.Parallel()
	known := map[string]config.Key{}
	for _, k := range config.Keys() {
		for _, env := range k.Env {
			known[env] = k
		}
	}
	secret := regexp.MustCompile(`(?i)connectionString|token|hash`)
	for _, p := range readManifest(t).Packages {
		seen := map[string]bool{}
		keys := map[string]string{}
		var required []string
		for _, v := range p.EnvironmentVariables {
			require.False(t, seen[v.Name], "%s is given twice", v.Name)
			seen[v.Name] = true
			require.NotEmpty(t, strings.TrimSpace(v.Description), v.Name)
			if v.IsRequired {
				required = append(required, v.Name)
			}
			if v.Name == "SW_POSTGRES_CONFIG" {
				require.False(t, v.IsSecret)
				require.Contains(t, []string{"", "string", "filepath"}, v.Format)
				continue
			}
			k, ok := known[v.Name]
			require.True(t, ok, "the server does not read %s", v.Name)
			require.Empty(t, keys[k.Name], "%s and %s set the same key", v.Name, keys[k.Name])
			keys[k.Name] = v.Name
			require.Equal(t, secret.MatchString(k.Name), v.IsSecret, v.Name)
			if v.Default != "" {
				require.Equal(t, k.Default, v.Default, v.Name)
			}
			require.Contains(t, []string{"", "string", "number", "boolean"}, v.Format, v.Name)
		}
		for _, k := range config.Keys() {
			if len(k.Env) > 0 {
				require.NotEmpty(t, keys[k.Name], "%s is not offered", k.Name)
			}
		}
		slices.Sort(required)
		require.Equal(t, []string{"DATABASE_URL_READONLY", "DATABASE_URL_WRITER"}, required)
		require.True(t, seen["SW_POSTGRES_CONFIG"], "the allowlists come by file only: its variable must be offered")
	}
}
