// Package initsql embeds the SQL that a database owner reviews and runs: roles, audit, demo schema.
package initsql

import "embed"

// Files holds 01_roles.sql, 02_audit.sql and 03_demo.sql. Each may be run again at any time.
//
//go:embed *.sql
var Files embed.FS
