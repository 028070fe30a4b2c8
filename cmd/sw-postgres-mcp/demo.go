package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/jpka/sw-postgres-mcp/internal/demo"
)

// demoSeed makes the demo's data the same on every machine.
const demoSeed = 1

func demoCommand(r *root) *cobra.Command {
	var auto, serve bool
	var seed uint64
	var transcript string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Play a guided tour on a throw-away Postgres, or serve on one",
		Long: "demo starts a throw-away Postgres with demo data, runs this very program on it and plays a guided tour:\n" +
			"reads, a small change, a change that waits for you on the approval page, one that is too large, a migration.\n" +
			"With --serve it is the MCP server on that Postgres instead, for a first try with your own client.\n" +
			"Nothing is left running or on disk.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if serve {
				if auto || transcript != "" {
					return usage(errors.New("--serve takes neither --auto nor --transcript"))
				}
				return r.serveDemo(cmd.Context(), seed)
			}
			return r.tour(cmd.Context(), auto, seed, transcript)
		},
	}
	cmd.Flags().BoolVar(&auto, "auto", false, "decide over HTTP instead of waiting for a person on the page")
	cmd.Flags().BoolVar(&serve, "serve", false, "serve MCP on stdin and stdout, on a throw-away Postgres with the demo data")
	cmd.Flags().Uint64Var(&seed, "seed", demoSeed, "seed of the demo data")
	cmd.Flags().StringVar(&transcript, "transcript", "", "also write the tour, as Markdown, to this file")
	return cmd
}

// tour plays the guided tour against this program's own binary.
func (r *root) tour(ctx context.Context, auto bool, seed uint64, transcript string) (err error) {
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program's own file: %w", err)
	}
	out := r.out
	if transcript != "" {
		f, err := os.Create(transcript) //nolint:gosec // the person named it
		if err != nil {
			return usage(fmt.Errorf("writing the transcript: %w", err))
		}
		defer func() {
			if cerr := f.Close(); err == nil && cerr != nil {
				err = fmt.Errorf("writing the transcript: %w", cerr)
			}
		}()
		out = io.MultiWriter(r.out, f)
	}
	err = demo.Tour(ctx, demo.TourOptions{Binary: binary, Auto: auto, Seed: seed, Out: out})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return errors.New("interrupted; the throw-away Postgres and everything else of the demo is removed")
	}
	return err
}

// serveDemo serves on a throw-away Postgres; stdout carries the protocol, as always.
func (r *root) serveDemo(ctx context.Context, seed uint64) (err error) {
	config, env, stop, err := demo.Sandbox(ctx, seed, r.say)
	if err != nil {
		return err
	}
	defer func() {
		if serr := stop(); err == nil && serr != nil {
			err = fmt.Errorf("stopping the demo's Postgres: %w", serr)
		}
	}()
	outer := r.env
	r.config = config
	r.env = func(name string) (string, bool) {
		if v, ok := env[name]; ok {
			return v, true
		}
		return outer(name)
	}
	return r.serve(ctx)
}
