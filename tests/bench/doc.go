// Package bench holds the measurements of `make bench`. They print ratios against the bare statement
// in the same run and round trips on the wire; nothing in them is an assertion about time.
package bench
