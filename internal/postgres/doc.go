// Package postgres is the only way to the database: two pools, the checks of the roles behind
// them, the one way agent text reaches the server, and values in and out.
//
// It guarantees: agent text travels only by the extended protocol with text parameters of unknown
// type, so that the server accepts exactly one statement per step (PostgreSQL manual, 55.2.3);
// a connection whose transaction status is not idle, or whose lexing differs from the parser's,
// is destroyed and never handed out again; reads run in READ ONLY transactions that are always
// rolled back; no error that leaves this package holds a connection string or a password.
//
// It must never build SQL from agent text (apart from putting checked text behind DECLARE or
// EXPLAIN), never use the simple protocol for it, never retry a write, and never decide whether a
// person is needed.
package postgres
