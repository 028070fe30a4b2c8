package runtimedir

import (
	"log/slog"
	"time"
)

// At is the directory at a path, without looking for one.
func At(path string) (Dir, error) { return Dir{path}, check(path) }

// FindIn looks in the given parents, each with the directory's name.
func FindIn(env func(string) (string, bool), parents ...string) (Dir, error) {
	var places []candidate
	for _, p := range parents {
		places = append(places, candidate{p, dirName})
	}
	return find(env, places)
}

// RegisterMending looks after its socket more often.
func (d Dir) RegisterMending(port int, p Page, every time.Duration, log *slog.Logger) (*Entry, error) {
	return d.register(port, p, log, every, answerWithin)
}

// RegisterPatient gives who asks much time.
func (d Dir) RegisterPatient(port int, p Page) (*Entry, error) {
	return d.register(port, p, slog.New(slog.DiscardHandler), time.Hour, time.Hour)
}

// SocketName is what a server's socket is called.
var SocketName = socketName

// Bounds of the talk, for tests.
const (
	MaxTalks = maxTalks
	MaxPath  = maxPath
)
