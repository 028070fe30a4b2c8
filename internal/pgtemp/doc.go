// Package pgtemp is a throw-away Postgres: for every test that claims something about Postgres,
// and for the demo.
//
// It guarantees: a real server on 127.0.0.1 with the roles and the audit table of docker/init; one
// fresh database per test, cloned from a template; random passwords; and nothing left behind, no
// process and no directory, even when this process is ended by kill -9 (a small supervisor watches
// a pipe). A test that cannot have a Postgres fails and says what to install; it is never skipped.
//
// The ladder: SW_TEST_POSTGRES_URL (a superuser's URL of a cluster nobody needs) → native binaries
// (SW_TEST_POSTGRES_BIN, PATH, the usual places) → Docker. SW_TEST_POSTGRES_DOCKER=1 leaves only
// the last rung.
//
// It must never touch a cluster that it did not start, except the one SW_TEST_POSTGRES_URL names,
// and it must never become part of the server's own path to Postgres.
package pgtemp
