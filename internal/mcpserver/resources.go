package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
)

// Resources are tables as resources. *tools.Resources implements it. Each method returns a
// *refusal.Error or a fault.
type Resources interface {
	// List returns one page, and what to give as after for the next.
	List(ctx context.Context, after string) (page []tools.Resource, next string, err error)
	// Read returns one JSON object; INVALID_TABLE_NAME or TABLE_NOT_ALLOWLISTED when the URI leads to nothing.
	Read(ctx context.Context, uri string) (json.RawMessage, error)
	// Complete returns values of a variable that begin with what was typed.
	Complete(ctx context.Context, variable, typed string, given map[string]string) (values []string, more bool, err error)
}

// resourcesAtOnce is how many resources are listed, read and completed at once. The library gives each
// such request a goroutine of its own, and a flood of them must not wait for connections without a bound.
const resourcesAtOnce = 32

// everyURI is the one resource that the library knows: what is asked for is put into its arguments, so that
// a URI which no template of the library matches is answered with a hint as well.
const everyURI = "postgres://schema"

const jsonType = "application/json"

// addResources offers the template, and answers list and read by the tables there are at that moment. The
// library's own list is fixed, so the answer is filled in by its hook.
func (s *Server) addResources(r Resources, hooks *server.Hooks) {
	read := s.readResource(r)
	template := mcp.NewResourceTemplate(tools.ResourceTemplate, "table", mcp.WithTemplateMIMEType(jsonType),
		mcp.WithTemplateDescription("Columns, keys, checks, indexes, triggers and row estimate of one table or view, and whether this server may write to it: what describe_schema answers. Names are spelled as Postgres spells them and percent-encoded."))
	template.Title = "Describe a table"
	s.mcp.AddResourceTemplate(template, server.ResourceTemplateHandlerFunc(read))
	s.mcp.AddResource(mcp.Resource{URI: everyURI, Name: "tables"}, read)
	hooks.AddBeforeReadResource(func(_ context.Context, _ any, m *mcp.ReadResourceRequest) {
		m.Params.Arguments = map[string]any{"uri": m.Params.URI}
		m.Params.URI = everyURI
	})
	hooks.AddAfterListResources(func(ctx context.Context, _ any, m *mcp.ListResourcesRequest, out *mcp.ListResourcesResult) {
		out.Resources, out.NextCursor = []mcp.Resource{}, ""
		after, err := base64.StdEncoding.DecodeString(string(m.Params.Cursor)) // the library refused what is none
		if err != nil {
			return
		}
		var page []tools.Resource
		var next string
		err = s.guarded(func() (err error) {
			page, next, err = r.List(ctx, string(after))
			return err
		})
		if err != nil {
			// The hook cannot answer with an error. The template is there all the same, and reading says what is wrong.
			s.log.Warn("the list of resources stays empty", "cause", err)
			return
		}
		for _, t := range page {
			out.Resources = append(out.Resources, mcp.Resource{URI: t.URI, Name: t.Name, Description: t.Description, MIMEType: jsonType})
		}
		if next != "" {
			out.NextCursor = mcp.Cursor(base64.StdEncoding.EncodeToString([]byte(next)))
		}
	})
}

func (s *Server) readResource(r Resources) server.ResourceHandlerFunc {
	return func(ctx context.Context, m mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		uri, _ := m.Params.Arguments["uri"].(string)
		var text json.RawMessage
		err := s.guarded(func() (err error) {
			text, err = r.Read(ctx, uri)
			return err
		})
		if err != nil {
			code := mcp.INTERNAL_ERROR
			if refusal.Is(err, refusal.InvalidTableName) || refusal.Is(err, refusal.TableNotAllowlisted) {
				code = notFoundCode(ctx)
			}
			return nil, s.coded("resources/read", code, err)
		}
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: jsonType, Text: string(text)}}, nil
	}
}

// notFoundCode is -32002, and for 2026-07-28 what that revision put in its place (MCP, "Resources", errors).
func notFoundCode(ctx context.Context) int {
	if mcp.IsModernProtocol(server.RequestProtocolVersion(ctx)) {
		return mcp.INVALID_PARAMS
	}
	return mcp.RESOURCE_NOT_FOUND
}

// guarded runs what looks at the database: so many at once, and a panic becomes an error.
func (s *Server) guarded(f func() error) (err error) {
	select {
	case s.resources <- struct{}{}:
		defer func() { <-s.resources }()
	default:
		return refusal.New(refusal.TooBusy, "Too many resources are being read at once.", "Wait for answers before asking for more.")
	}
	defer s.recovered(&err)
	return f()
}

// completer completes the variables of the template, and arguments of prompts that are tables.
type completer struct {
	s *Server
	r Resources
}

// CompleteResourceArgument implements server.ResourceCompletionProvider.
func (c completer) CompleteResourceArgument(ctx context.Context, uri string, a mcp.CompleteArgument, given mcp.CompleteContext) (*mcp.Completion, error) {
	if uri != tools.ResourceTemplate {
		return &mcp.Completion{}, nil
	}
	return c.complete(ctx, a.Name, a.Value, given.Arguments), nil
}

// CompletePromptArgument implements server.PromptCompletionProvider.
func (c completer) CompletePromptArgument(ctx context.Context, _ string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	if a.Name != tools.TableArgument {
		return &mcp.Completion{}, nil
	}
	return c.complete(ctx, tools.TableArgument, a.Value, nil), nil
}

// complete knows nothing where it fails: a completion is a convenience and no answer.
func (c completer) complete(ctx context.Context, variable, typed string, given map[string]string) *mcp.Completion {
	out := &mcp.Completion{}
	err := c.s.guarded(func() (err error) {
		out.Values, out.HasMore, err = c.r.Complete(ctx, variable, typed, given)
		return err
	})
	if err != nil {
		c.s.log.Warn("nothing is completed", "cause", err)
		return &mcp.Completion{}
	}
	return out
}
