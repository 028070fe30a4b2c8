package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFetchSizes(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{1, 2, 3, 4, 5, 16, 17, 101, 1001, 1_000_001} {
		sent := 0
		sizes := fetchSizes(rows)
		for _, n := range sizes {
			require.Positive(t, n)
			require.LessOrEqual(t, n, growth*sent+1)
			sent += n
		}
		require.Equal(t, rows, sent)
		require.LessOrEqual(t, len(sizes), 12)
	}
	require.Len(t, fetchSizes(1001), 6)
}
