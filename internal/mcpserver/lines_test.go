package mcpserver_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLines(t *testing.T) {
	c := connect(t, echo())

	t.Run("blank lines get no answer", func(*testing.T) {
		c.send("", "   ", "\r", "\t\r")
		c.silent()
	})
	t.Run("what is no message is a parse error and the session goes on", func(t *testing.T) {
		for _, line := range []string{`{`, `[]`, `42`, `"x"`, `{"jsonrpc":`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "\x00\x01", strings.Repeat("[", 20000), strings.Repeat(`{"a":`, 20000)} {
			c.send(line)
			a := c.next()
			require.Equal(t, "null", string(a.ID))
			require.NotNil(t, a.Error, line)
			require.Equal(t, -32700, a.Error.Code)
			c.silent()
		}
	})
	t.Run("an answer of the client is never taken for a request", func(*testing.T) {
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"late"}}`,
			`{"jsonrpc":"2.0","id":"1","error":{"code":-1,"message":"late"}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"late"}}`,
			`{"jsonrpc":"2.0","error":{"code":-1,"message":"late"}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`,
			`{"jsonrpc":"2.0","id":1,"result":null}`,
			`{"jsonrpc":"2.0","result":{}}`,
		} {
			c.send(line)
			c.silent()
		}
	})
	t.Run("neither request nor response", func(t *testing.T) {
		c.send(`{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}`)
		a := c.next()
		require.Equal(t, "7", string(a.ID))
		require.Equal(t, -32600, a.Error.Code)
		c.send(`{"jsonrpc":"2.0","id":null,"method":"tools/list"}`)
		require.Equal(t, -32600, c.next().Error.Code)
		c.send(`{"jsonrpc":"1.0","id":8,"method":"ping"}`)
		require.Equal(t, -32600, c.next().Error.Code)
		c.send(`{"jsonrpc":"2.0","id":9,"method":"no/such"}`)
		require.Equal(t, -32601, c.next().Error.Code)
		c.silent()
	})
	t.Run("carriage returns", func(t *testing.T) {
		c.send(`{"jsonrpc":"2.0","id":10,"method":"ping"}` + "\r")
		require.Equal(t, "10", string(c.next().ID))
	})
	t.Run("unknown tool and bad parameters", func(t *testing.T) {
		c.send(call("11", "nope", `{}`))
		require.Equal(t, -32602, c.next().Error.Code)
		c.send(`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":[1]}`)
		require.Equal(t, -32600, c.next().Error.Code)
		c.silent()
	})
}

func TestByteOrderMark(t *testing.T) {
	c := connect(t, echo())
	c.send("\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	require.Equal(t, "1", string(c.next().ID))
}

// S21: a 20 MB line is refused under the caller's id, wherever that stands, and costs little.
func TestS21LongLine(t *testing.T) {
	c := connect(t, echo())
	big := strings.Repeat("x", 20<<20)
	for name, line := range map[string]string{
		`"first"`: `{"jsonrpc":"2.0","id":"first","method":"tools/call","params":{"name":"echo","arguments":{"a":"` + big + `"}}}`,
		`77`:      `{"method":"tools/call","params":{"name":"echo","id":5,"arguments":{"id":"\"}` + big + `"}},"jsonrpc":"2.0","id":77}`,
		`null`:    `{"method":"x","id":{"a":1},"params":"` + big + `"}`,
	} {
		start := time.Now()
		c.send(line)
		a := c.next()
		require.Equal(t, name, string(a.ID))
		require.Equal(t, -32600, a.Error.Code)
		require.Contains(t, a.Error.Message, "smaller batches")
		require.Less(t, time.Since(start), 10*time.Second)
	}
	c.silent()
}

// The limit is exact, whatever the buffers, and the session goes on behind it.
func TestLongestLine(t *testing.T) {
	const limit = 200_000
	c := connectWith(t, limit, echo())
	line := func(size int) string { // size bytes with the newline
		frame := len(call("1", "echo", `{"a":""}`)) + 1
		return call("1", "echo", `{"a":"`+strings.Repeat("x", size-frame)+`"}`)
	}
	for range 2 {
		c.send(line(limit))
		require.False(t, c.next().tool(t).IsError)
		c.send(line(limit + 1))
		a := c.next()
		require.Equal(t, "1", string(a.ID))
		require.Equal(t, -32600, a.Error.Code)
		c.send(line(1000))
		require.False(t, c.next().tool(t).IsError)
	}
	// The end of the stream inside a long line is the end, without an answer.
	_, err := io.WriteString(c.in, strings.Repeat("x", 3*limit))
	require.NoError(t, err)
	require.NoError(t, c.in.Close())
	require.NoError(t, within(t, c.served))
}

func TestEndOfStream(t *testing.T) {
	t.Run("closing stdin ends it", func(t *testing.T) {
		c := connect(t, echo())
		c.silent()
		_, err := io.WriteString(c.in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`) // no newline: not a message
		require.NoError(t, err)
		require.NoError(t, c.in.Close())
		require.NoError(t, within(t, c.served))
		_, more := <-c.lines
		require.False(t, more, "half a message was answered")
	})
	t.Run("a cancelled context ends it", func(t *testing.T) {
		c := connect(t, echo())
		c.silent()
		c.stop()
		require.NoError(t, within(t, c.served))
	})
	t.Run("a client that stops reading ends it", func(t *testing.T) {
		c := connect(t, echo())
		c.silent()
		require.NoError(t, c.out.Close())
		c.send(call("1", "echo", `{}`))
		require.NoError(t, within(t, c.served))
	})
}

func within(t *testing.T, served <-chan error) error {
	t.Helper()
	select {
	case err := <-served:
		return err
	case <-time.After(5 * time.Second):
		t.Fatal("Serve did not return")
		return nil
	}
}
