package main

import (
	"fmt"
	"os/exec"
	"runtime"
)

// browser returns the way to open an address on this desktop; nil where there is none.
func browser(env func(string) (string, bool)) func(url string) error {
	has := func(name string) bool { v, ok := env(name); return ok && v != "" }
	var command []string
	switch runtime.GOOS {
	case "darwin":
		if has("SSH_CONNECTION") {
			return nil // the desktop is somebody else's
		}
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	default:
		if has("SSH_CONNECTION") || !has("DISPLAY") && !has("WAYLAND_DISPLAY") {
			return nil
		}
		command = []string{"xdg-open"}
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil
	}
	return func(url string) error {
		// No streams: whatever it prints is nobody's, and stdout is the protocol's.
		cmd := exec.Command(path, append(command[1:], url)...) //nolint:gosec // a fixed program, our own address
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("starting %s: %w", command[0], err)
		}
		go func() { _ = cmd.Wait() }() // reaped; how it ended says nothing about the page
		return nil
	}
}
