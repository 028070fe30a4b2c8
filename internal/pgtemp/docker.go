package pgtemp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Image is the container image of the Docker rung, the same as in docker-compose.yml.
const Image = "postgres:16-alpine"

// DockerFallback starts a Postgres in a container by other means than the `docker` command and
// returns its superuser's URL. Package dockerpg sets it (testcontainers); only test files import
// that, so the shipped program does not contain it. Nil: the `docker` command is used.
var DockerFallback func(ctx context.Context, req DockerRequest) (superURL string, stop func() error, err error)

// DockerRequest says what DockerFallback shall start.
type DockerRequest struct {
	Image    string
	Password string   // of user postgres
	Args     []string // postgres settings: -c name=value …
}

// docker is a server in a container.
type docker struct {
	host     string
	port     int
	superURL string // set by DockerFallback
	stopFunc func() error
}

func (d *docker) stop() error      { return d.stopFunc() }
func (d *docker) describe() string { return "Postgres in Docker (" + Image + ")" }

// dockerTimeout covers pulling the image over a slow line.
const dockerTimeout = 5 * time.Minute

func startDocker(ctx context.Context, password string, opts Options) (*docker, error) {
	ctx, cancel := context.WithTimeout(ctx, dockerTimeout)
	defer cancel()
	if opts.inTest && DockerFallback != nil {
		opts.logf("starting %s through testcontainers", Image)
		url, stop, err := DockerFallback(ctx, DockerRequest{Image: Image, Password: password, Args: containerArgs(opts.Durable)})
		if err != nil {
			return nil, fmt.Errorf("starting a container: %w", err)
		}
		return &docker{superURL: url, stopFunc: stop}, nil
	}
	return dockerCommand(ctx, password, opts)
}

// containerArgs are the settings of a server in a container: it listens inside it.
func containerArgs(durable bool) []string {
	args := []string{"-c", "max_connections=300"}
	if !durable {
		args = append(args, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "autovacuum=off")
	}
	return args
}

// dockerCommand runs the image with the `docker` command. The container listens on 127.0.0.1 at a
// port that Docker chooses, removes itself when it ends, and is ended by a supervisor if we die.
func dockerCommand(ctx context.Context, password string, opts Options) (*docker, error) {
	path, err := exec.LookPath("docker")
	if err != nil {
		return nil, errors.New("there is no docker command")
	}
	if err := dockerAnswers(ctx, path); err != nil {
		return nil, err
	}
	opts.logf("starting %s with the docker command", Image)

	name := "sw-pgtemp-" + randomHex(6)
	stop, err := superviseContainer(path, name)
	if err != nil {
		return nil, err
	}
	args := []string{"run", "--rm", "--detach", "--name", name, "-p", "127.0.0.1::5432", "-e", "POSTGRES_PASSWORD", Image}
	cmd := exec.CommandContext(ctx, path, append(args, containerArgs(opts.Durable)...)...) //nolint:gosec // G204: our own argument list
	cmd.Env = append(os.Environ(), "POSTGRES_PASSWORD="+password)                          // not an argument: those are visible to everybody
	if _, err := output(cmd); err != nil {
		return nil, errors.Join(fmt.Errorf("docker run %s: %w", Image, err), stop())
	}
	port, err := containerPort(ctx, path, name)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	d := &docker{host: "127.0.0.1", port: port, stopFunc: stop}
	// The image starts Postgres twice (its init scripts run without TCP); only the second answers here.
	url := fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/postgres?sslmode=disable", password, port)
	if err := waitReady(ctx, url); err != nil {
		return nil, errors.Join(err, stop())
	}
	return d, nil
}

// dockerAnswers asks the daemon for its version. The command may be there without one, and an
// endpoint that accepts and stays silent must not hang us.
func dockerAnswers(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "version", "--format", "{{.Server.Version}}")
	cmd.WaitDelay = time.Second
	if _, err := output(cmd); err != nil {
		if ctx.Err() != nil {
			return errors.New("the docker daemon does not answer within 5 s")
		}
		return fmt.Errorf("the docker daemon is not running (%w)", err)
	}
	return nil
}

func containerPort(ctx context.Context, path, name string) (int, error) {
	out, err := output(exec.CommandContext(ctx, path, "port", name, "5432/tcp")) //nolint:gosec // G204: found in PATH
	if err != nil {
		return 0, fmt.Errorf("docker port: %w", err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	_, port, err := net.SplitHostPort(line)
	if err != nil {
		return 0, fmt.Errorf("docker port says %q: %w", line, err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0, fmt.Errorf("docker port says %q: %w", line, err)
	}
	return n, nil
}

// waitReady returns when url can be connected to.
func waitReady(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := ping(ctx, url)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for Postgres in the container: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func ping(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := connect(ctx, url)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// superviseContainer starts a shell that removes the container when stop is called or this process
// ends, in whatever way. It is started before the container is.
func superviseContainer(path, name string) (stop func() error, err error) {
	cmd := exec.Command("/bin/sh", "-c", //nolint:gosec // G204: fixed text
		`trap '' HUP INT TERM; while read -r _; do :; done; exec "$1" rm --force --volumes "$2" >/dev/null 2>&1`, "sw-pgtemp", path, name)
	ownGroup(cmd)
	tell, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the supervisor of the container: %w", err)
	}
	return func() error {
		if err := tell.Close(); err != nil {
			return err
		}
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("docker rm %s: %w", name, err)
		}
		return nil
	}, nil
}

// output runs cmd and returns its stdout; the error carries the first line of its stderr.
func output(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		if line == "" {
			return "", err
		}
		return "", errors.New(line)
	}
	return string(out), nil
}
