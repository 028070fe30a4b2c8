//go:build !unix

package postgres

import "net"

// readable cannot be told without reading; the caller then reads with a short deadline.
func readable(net.Conn) (pending, known bool) { return false, false }
