package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/strictjson"
)

func (l *loader) readEnvironment(env func(string) (string, bool)) {
	for _, k := range table {
		for _, variable := range k.env {
			text, ok := env(variable)
			if !ok || strings.TrimSpace(text) == "" {
				continue
			}
			value, err := parse(k, text)
			if err != nil {
				l.problems = append(l.problems, fmt.Errorf("environment variable %s (%s): %w", variable, k.name, err))
				break
			}
			if variable == "DATABASE_URL" && l.source[k.name] != "" {
				l.warn("DATABASE_URL is set and wins over %s in %s; unset it, or set DATABASE_URL_WRITER, to be sure which database is written to", k.name, l.source[k.name])
			}
			l.v.Set(k.name, value)
			l.source[k.name] = variable
			break
		}
	}
}

// parse reads a variable without guessing.
func parse(k setting, text string) (any, error) {
	switch k.value.(type) {
	case int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not an integer", text)
		}
		return n, nil
	case bool:
		switch text {
		case "true", "1":
			return true, nil
		case "false", "0":
			return false, nil
		}
		return nil, fmt.Errorf("%q is neither true nor false", text)
	case string:
		return strings.TrimSpace(text), nil
	default:
		return nil, errors.New("it cannot be set by a variable")
	}
}

// Misspelt finds variables of environ (as os.Environ gives them) that look like ours and are not:
// SW_HARD_MAX_ROW would otherwise be ignored in silence. Each is a sentence that names the likely
// one.
func Misspelt(environ []string) []string {
	known := []string{fileVariable}
	for _, k := range table {
		known = append(known, k.env...)
	}
	var out []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "SW_") || strings.HasPrefix(name, "SW_TEST_") || slices.Contains(known, name) {
			continue
		}
		if near := strictjson.Nearest(name, known); near != "" {
			out = append(out, fmt.Sprintf("environment variable %s is not a setting; did you mean %s?", name, near))
		}
	}
	slices.Sort(out)
	return out
}
