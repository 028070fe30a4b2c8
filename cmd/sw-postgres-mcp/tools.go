package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/jpka/sw-postgres-mcp/internal/config"
	"github.com/jpka/sw-postgres-mcp/internal/toolpolicy"
)

// toolsCommand prints what a session would see.
func toolsCommand(r *root) *cobra.Command {
	return &cobra.Command{
		Use:   "tools",
		Short: "Print which tools a session sees, and why not the others",
		Long: "Print each tool with its group and tier, and whether a session sees it: as SW_ALLOWED_TOOLS, SW_TOOLS,\n" +
			"--tools or the setting tools say, the first of them that is given.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return r.printTools() },
	}
}

func (r *root) printTools() error {
	cfg, err := r.load()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TOOL\tGROUP\tTIER\tSHOWN\tWHY")
	for _, row := range toolpolicy.Table() {
		on, why := cfg.Tools.Shows(row.Tool)
		shown := "no"
		if on {
			shown = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", row.Tool, row.Group, row.Tier, shown, why)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(r.out)
	for _, g := range toolpolicy.Groups() {
		fmt.Fprintf(w, "%s\t%s\n", g.Group, g.Sentence)
	}
	return w.Flush()
}

// lookup is the environment, and --tools beside it.
func (r *root) lookup(name string) (string, bool) {
	if name == config.ToolsFlag {
		return r.tools, r.tools != ""
	}
	return r.env(name)
}
