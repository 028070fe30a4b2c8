// Package tools holds the eight tools: decode strictly, call the guard and the core, render.
//
// It guarantees: arguments with unknown or duplicate keys, wrong types or no reason never get past
// decoding; no number and no boolean is ever guessed from a string; every value of an agent stays
// the bytes it was; a result is one JSON object in which no list is null; every refusal of a write
// that never reached Postgres is handed to the audit.
//
// It must never decide whether a person is needed, never talk to a database, and never hold a way
// to commit that is not execute_plan.
package tools
