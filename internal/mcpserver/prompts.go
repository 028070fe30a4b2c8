package mcpserver

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
)

// addPrompts offers the prompts. Their arguments are checked by them: the library sends a prompt
// whose required arguments are missing.
func (s *Server) addPrompts(list []tools.Prompt) {
	for _, p := range list {
		shown := mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
		for _, a := range p.Arguments {
			shown.Arguments = append(shown.Arguments, mcp.PromptArgument{Name: a.Name, Title: a.Title, Description: a.Description, Required: a.Required})
		}
		s.mcp.AddPrompt(shown, func(_ context.Context, m mcp.GetPromptRequest) (_ *mcp.GetPromptResult, err error) {
			var text string
			err = func() (err error) {
				defer s.recovered(&err)
				text, err = p.Render(m.Params.Arguments)
				return err
			}()
			if err != nil {
				code := mcp.INTERNAL_ERROR
				if refusal.Is(err, refusal.InvalidArguments) {
					code = mcp.INVALID_PARAMS
				}
				return nil, s.coded("prompts/get", code, err)
			}
			return &mcp.GetPromptResult{
				Description: p.Description,
				Messages:    []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.TextContent{Type: mcp.ContentTypeText, Text: text}}},
			}, nil
		})
	}
}
