package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/jpka/sw-postgres-mcp/internal/pinhash"
)

// pinCommand makes the hash of a PIN. The PIN comes from the terminal and from nowhere else:
// arguments and variables can be read by other programs of the user and stay in histories.
func pinCommand(r *root) *cobra.Command {
	return &cobra.Command{
		Use:   "pin",
		Short: "Ask for a PIN and print the configuration line that makes approving need it",
		Long: fmt.Sprintf("pin asks twice for a PIN on the terminal, without showing it, and prints approvalServer.pinHash for the\n"+
			"configuration file. With it, approving on the page needs the PIN; rejecting does not. A PIN has at least %d\n"+
			"characters; letters are better than digits, since whoever can read the file can try PINs at their own pace.", pinhash.MinLength),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.pin(cmd.Context()) },
	}
}

func (r *root) pin(ctx context.Context) error {
	tty, ok := r.in.(*os.File)
	if !ok || !term.IsTerminal(int(tty.Fd())) {
		return usage(errors.New("the PIN is read from a terminal only, and standard input is none"))
	}
	pin, err := r.readHidden(ctx, tty, "New PIN: ")
	if err != nil {
		return err
	}
	if err := pinhash.Check(pin); err != nil {
		return usage(err)
	}
	again, err := r.readHidden(ctx, tty, "Once more: ")
	if err != nil {
		return err
	}
	if again != pin {
		return usage(errors.New("the two are not the same; nothing was made"))
	}
	line, err := pinhash.New(pin)
	if err != nil {
		return usage(err)
	}
	fmt.Fprintln(r.err, "Put this into the section \"approvalServer\" of the configuration file, and start the server again:")
	if _, err := fmt.Fprintf(r.out, "\"pinHash\": %q\n", line); err != nil {
		return fmt.Errorf("printing the line: %w", err)
	}
	return nil
}

// readHidden reads one line without echo. When ctx ends first (Ctrl-C), the terminal is put back as
// it was.
func (r *root) readHidden(ctx context.Context, tty *os.File, prompt string) (string, error) {
	fd := int(tty.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("reading the PIN: %w", err)
	}
	fmt.Fprint(r.err, prompt)
	type read struct {
		line []byte
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := term.ReadPassword(fd)
		got <- read{line, err}
	}()
	select {
	case in := <-got:
		fmt.Fprintln(r.err)
		if in.err != nil {
			return "", fmt.Errorf("reading the PIN: %w", in.err)
		}
		return string(in.line), nil
	case <-ctx.Done():
		fmt.Fprintln(r.err)
		if err := term.Restore(fd, before); err != nil {
			return "", fmt.Errorf("putting the terminal back: %w", err)
		}
		return "", errors.New("interrupted; nothing was made")
	}
}
