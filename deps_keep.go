//go:build depskeep

package deps

import (
	_ "github.com/PuerkitoBio/goquery"
	_ "github.com/go-json-experiment/json/jsontext"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgerrcode"
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/mark3labs/mcp-go/client"
	_ "github.com/mark3labs/mcp-go/server"
	_ "github.com/pganalyze/pg_query_go/v5"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/spf13/cobra"
	_ "github.com/spf13/viper"
	_ "github.com/stretchr/testify/require"
	_ "github.com/testcontainers/testcontainers-go/modules/postgres"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "google.golang.org/protobuf/proto"
	_ "pgregory.net/rapid"
	_ "github.com/chromedp/chromedp"
)
