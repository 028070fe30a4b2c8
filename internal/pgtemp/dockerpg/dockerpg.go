// Package dockerpg lets tests take their Postgres from a container, through testcontainers-go.
//
// Importing it (in a test file: `import _ ".../internal/pgtemp/dockerpg"`) registers it with
// pgtemp as the last rung of its ladder. It guarantees an answer within about a second when there
// is no Docker, also from an endpoint that accepts connections and says nothing.
//
// It must never be imported by anything but test files, so that the product does not link
// testcontainers; depguard in .golangci.yml holds that.
package dockerpg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/postgres"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

func init() { pgtemp.DockerFallback = Start } //nolint:gochecknoinits // registering is what the package is for

// Start runs the image and returns its superuser's URL. The container is removed by stop, and by
// testcontainers' own watcher when this process ends in any other way.
func Start(ctx context.Context, req pgtemp.DockerRequest) (superURL string, stop func() error, err error) {
	if err := Probe(ctx, Endpoint(os.Getenv)); err != nil {
		return "", nil, err
	}
	container, err := postgres.Run(ctx, req.Image,
		postgres.WithUsername("postgres"), postgres.WithPassword(req.Password), postgres.WithDatabase("postgres"),
		testcontainers.WithCmdArgs(req.Args...),
		postgres.BasicWaitStrategies(),
	)
	stop = func() error { return testcontainers.TerminateContainer(container) }
	if err != nil {
		return "", nil, errors.Join(err, stop())
	}
	superURL, err = container.ConnectionString(ctx, "sslmode=disable")
	if err != nil {
		return "", nil, errors.Join(err, stop())
	}
	return superURL, stop, nil
}

// Endpoint is where a Docker daemon is expected: DOCKER_HOST, else the usual sockets.
func Endpoint(env func(string) string) string {
	if host := env("DOCKER_HOST"); host != "" {
		return host
	}
	sockets := []string{"/var/run/docker.sock"}
	if dir := env("XDG_RUNTIME_DIR"); dir != "" {
		sockets = append(sockets, filepath.Join(dir, "docker.sock")) // rootless
	}
	if home := env("HOME"); home != "" {
		sockets = append(sockets, filepath.Join(home, ".docker/run/docker.sock")) // Docker Desktop
	}
	for _, s := range sockets {
		if st, err := os.Stat(s); err == nil && st.Mode()&os.ModeSocket != 0 {
			return "unix://" + s
		}
	}
	return "unix://" + sockets[0]
}

// probeTimeout is generous for a daemon on this machine. testcontainers itself would wait for
// minutes for one that accepts and stays silent.
const probeTimeout = 500 * time.Millisecond

// Probe asks the daemon at endpoint (unix:///path or tcp://host:port) whether it is there.
func Probe(ctx context.Context, endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return errors.New("DOCKER_HOST is not a URL")
	}
	network, address := "tcp", u.Host
	switch u.Scheme {
	case "unix":
		network, address = "unix", u.Path
	case "tcp", "http":
	default:
		return fmt.Errorf("a Docker daemon behind %s:// cannot be asked", u.Scheme)
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker/_ping", nil)
	if err != nil {
		return fmt.Errorf("asking the Docker daemon: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("no Docker daemon answers at %s: %w", endpoint, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the Docker daemon at %s answers %s", endpoint, resp.Status)
	}
	return nil
}
