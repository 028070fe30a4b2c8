// Package mutants breaks the product on purpose, one line at a time, and insists that the test that is
// named for the broken property fails (`make mutants`). A property whose test stays green when the code
// is wrong is not held by that test.
//
// It never changes the tree: a mutant is an overlay of the go command (go help build, -overlay), which
// also reaches the binary that the end-to-end tests build. A fault whose text no longer stands in the code
// exactly once fails the run, as does one that does not compile: neither says anything about a test.
package mutants
