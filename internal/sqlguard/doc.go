// Package sqlguard turns agent text into a [Statement]: exactly one statement of a known class,
// whose relations and functions were resolved as Postgres resolves them and checked.
//
// It guarantees: holding a *Statement means it was checked (its fields are unexported); the text
// that goes out is the agent's own, with comments removed at the scanner's tokens and white space
// made single, never the output of a deparser; the C parser never sees text that could kill it
// (see measure.go); what it cannot judge it refuses.
//
// It is the second wall. The first is in the database: READ ONLY transactions, grants, and a
// grammar position in which COMMIT is a syntax error.
//
// Names that start with sw_ belong to the statements that are built around agent text: a condition,
// a SET expression or a migration that uses one is refused, so is a table of such a name, and a target
// with a column that is exactly one of the aliases in use.
//
// It must never import a driver, never run SQL, and never decide whether a person is needed: it
// reports facts (volatile functions in where, the class), writecore decides.
package sqlguard
