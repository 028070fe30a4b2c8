//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jpka/sw-postgres-mcp/internal/pinhash"
)

// terminal is a pair of ends: what a person sees and types on, and what the program has as stdin.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = person.Close() })
	fd := int(person.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	program, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// echoes says whether the terminal shows what is typed.
func echoes(t *testing.T, f *os.File) bool {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	require.NoError(t, err)
	return s.Lflag&unix.ECHO != 0
}

// typing runs pin on a terminal and types lines, each once its prompt is there. "^C" interrupts.
func typing(t *testing.T, lines ...string) (code int, stdout, stderr string) {
	t.Helper()
	person, program := terminal(t)
	require.True(t, echoes(t, program))
	cmd := command(t, nil, "pin")
	var out bytes.Buffer
	errs := &safeBuffer{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, &out, errs
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for i, line := range lines {
		prompt := []string{"New PIN: ", "Once more: "}[i]
		wait(t, func() bool { return strings.HasSuffix(errs.String(), prompt) && !echoes(t, program) })
		if line == "^C" {
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			break
		}
		_, err := person.WriteString(line + "\n")
		require.NoError(t, err)
	}
	select {
	case err := <-ended:
		if err != nil {
			require.IsType(t, &exec.ExitError{}, err)
		}
	case <-time.After(60 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatal("pin did not end")
	}
	require.True(t, echoes(t, program), "the terminal is as it was")
	for _, line := range lines {
		require.NotContains(t, out.String()+errs.String(), line)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestPIN(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := typing(t, "sesame-246810", "sesame-246810")
	require.Equal(t, exitOK, code, stderr)
	value, ok := strings.CutPrefix(strings.TrimSpace(stdout), `"pinHash": "`)
	require.True(t, ok, stdout)
	h, err := pinhash.Parse(strings.TrimSuffix(value, `"`))
	require.NoError(t, err)
	require.True(t, h.Matches("sesame-246810"))
	require.Contains(t, stderr, "approvalServer")

	for want, lines := range map[string][]string{
		"not the same": {"sesame-246810", "sesame-246811"},
		"6 to 100":     {"12345"},
		"repeated":     {"111111"},
	} {
		code, stdout, stderr = typing(t, lines...)
		require.Equal(t, exitUsage, code, want)
		require.Empty(t, stdout)
		require.Contains(t, stderr, want)
	}
	for _, lines := range [][]string{{"^C"}, {"sesame-246810", "^C"}} {
		code, stdout, stderr = typing(t, lines...)
		require.Equal(t, exitRuntime, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "interrupted")
	}
}

// From nowhere but a terminal: not from a pipe, an argument, a flag or a variable.
func TestPINFromNowhereElse(t *testing.T) {
	t.Parallel()
	cmd := command(t, []string{"PIN=sesame-246810", "SW_PIN=sesame-246810"}, "pin")
	cmd.Stdin = strings.NewReader("sesame-246810\nsesame-246810\n")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, exitUsage, cmd.ProcessState.ExitCode())
	require.Contains(t, string(out), "from a terminal only")
	for _, a := range [][]string{{"pin", "sesame-246810"}, {"pin", "--pin", "sesame-246810"}, {"pin", "--pin=sesame-246810"}} {
		code, stdout, _ := once(t, nil, a...)
		require.Equal(t, exitUsage, code)
		require.Empty(t, stdout)
	}
}
