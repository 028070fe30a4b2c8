package dockerpg_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/pgtemp/dockerpg"
)

func TestRegistered(t *testing.T) {
	t.Parallel()
	require.NotNil(t, pgtemp.DockerFallback)
}

func TestProbe(t *testing.T) {
	t.Parallel()
	server := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/_ping" {
				status = http.StatusNotFound
			}
			w.WriteHeader(status)
		}))
		t.Cleanup(s.Close)
		return strings.Replace(s.URL, "http://", "tcp://", 1)
	}
	require.NoError(t, dockerpg.Probe(t.Context(), server(http.StatusOK)))
	require.ErrorContains(t, dockerpg.Probe(t.Context(), server(http.StatusInternalServerError)), "answers 500")
	require.ErrorContains(t, dockerpg.Probe(t.Context(), "unix://"+filepath.Join(t.TempDir(), "none.sock")), "no Docker daemon answers")
	require.ErrorContains(t, dockerpg.Probe(t.Context(), "ssh://host"), "cannot be asked")
}

// An endpoint that accepts and stays silent is found out, not waited for.
func TestProbeOfSilence(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "d.sock")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	require.NoError(t, err)
	defer l.Close()
	started := time.Now()
	require.ErrorContains(t, dockerpg.Probe(t.Context(), "unix://"+socket), "no Docker daemon answers")
	require.Less(t, time.Since(started), 5*time.Second)
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	run := t.TempDir()
	env := map[string]string{"XDG_RUNTIME_DIR": run}
	get := func(k string) string { return env[k] }
	if _, err := os.Stat("/var/run/docker.sock"); err != nil {
		require.Equal(t, "unix:///var/run/docker.sock", dockerpg.Endpoint(get))
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(run, "docker.sock"))
		require.NoError(t, err)
		defer l.Close()
		require.Equal(t, "unix://"+filepath.Join(run, "docker.sock"), dockerpg.Endpoint(get))
	}
	env["DOCKER_HOST"] = "tcp://127.0.0.1:2375"
	require.Equal(t, "tcp://127.0.0.1:2375", dockerpg.Endpoint(get))
}

// A real container, where there is a real daemon. SW_TEST_POSTGRES_DOCKER=1 makes its absence a failure.
func TestContainer(t *testing.T) {
	t.Parallel()
	if err := dockerpg.Probe(t.Context(), dockerpg.Endpoint(os.Getenv)); err != nil {
		if os.Getenv("SW_TEST_POSTGRES_DOCKER") == "1" {
			t.Fatal(err)
		}
		t.Skipf("not tested here: %v", err)
	}
	url, stop, err := dockerpg.Start(t.Context(), pgtemp.DockerRequest{
		Image: pgtemp.Image, Password: "a-password", Args: []string{"-c", "fsync=off"},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, stop()) }()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	var fsync, super string
	require.NoError(t, conn.QueryRow(t.Context(), "select current_setting('fsync'), current_setting('is_superuser')").Scan(&fsync, &super))
	require.Equal(t, "off on", fsync+" "+super)
}
