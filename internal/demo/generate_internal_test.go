package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

// The rows of the default seed are the same on every machine and in every version: docs/tour.md
// shows some of them. A deliberate change of the data changes this line.
func TestGenerateIsPinned(t *testing.T) {
	t.Parallel()
	d := generate(DefaultSeed)
	h := sha256.New()
	for _, b := range [][]byte{d.customers.Bytes(), d.products.Bytes(), d.orders.Bytes(), d.orderItems.Bytes()} {
		h.Write(b)
	}
	require.Equal(t, "6d72c85710372a856df95eba3d06486f", hex.EncodeToString(h.Sum(nil)[:16]))
	require.NotContains(t, d.customers.String(), `\`, "COPY would read it as an escape")
}
