package config

import "reflect"

// FileKeys is the set of leaves of the file's structure.
func FileKeys() []string {
	var out []string
	leaves(reflect.ValueOf(file{}), "", func(name string, _ any) { out = append(out, name) })
	return out
}
