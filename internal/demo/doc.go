// Package demo makes the demo: a shop's data that are the same for the same seed, and the guided
// tour through the product on them.
//
// It guarantees: exact numbers that the tour can talk about (see [Customers] and the constants beside it); seeding is one
// transaction, so a database is never left half filled; tables that are not the demo's are left
// alone unless the caller insists.
//
// It must never be part of a server's normal run, and it must never touch a table other than the
// four that docker/init/03_demo.sql makes.
package demo
