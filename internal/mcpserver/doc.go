// Package mcpserver speaks the Model Context Protocol on a pair of streams. It is the only home of
// mcp-go: everything the library gets wrong for a server of this kind is put right here.
//
// It guarantees: one line out is one JSON-RPC message, however many calls answer at once; no line
// in, whatever its length or content, ends the session; a panic or a fault in a tool reaches the
// log and never the client; an error is isError with {code, message, hint} as text and nothing
// else; structuredContent goes only to clients that negotiated a version which knows it; a
// cancelled call is cancelled, also while it still waits for a worker; so many calls are open at once
// and no more, so that a cancel and the end of stdin are always read.
//
// It must never decide anything about a statement, a plan or a person.
package mcpserver
