package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// TourOptions say how the guided tour runs.
type TourOptions struct {
	Binary string // the server to talk to
	Auto   bool   // decide over HTTP instead of waiting for a person
	Seed   uint64
	Out    io.Writer // what a person reads; Markdown, so that docs/tour.md is the same text
}

// Tour plays the guided tour: it starts a throw-away Postgres, fills it, runs the real server on it
// and talks MCP to it over stdio. Nothing is left running or on disk when it returns, error or not.
func Tour(ctx context.Context, o TourOptions) (err error) {
	t := &tour{o: o, ctx: ctx}
	t.title("A guided tour of sw-postgres-mcp")
	t.say("Everything below is real: a throw-away Postgres with demo data, the server as your client would start it, and a scripted MCP client talking to it over stdio. " +
		"`→` is what the agent sends, `←` is what it gets back.")
	box, err := openSandbox(ctx, o.Seed, t.progress)
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, box.close()) }()
	t.box = box

	c, err := startClient(ctx, o.Binary, []string{"--config", box.config}, box.env())
	if err != nil {
		return err
	}
	t.c = c
	defer func() { err = firstError(err, c.stop()) }()
	select {
	case t.page = <-c.page:
	case <-time.After(10 * time.Second):
		return fmt.Errorf("the server did not say where its approval page is%s", c.log)
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, s := range []func() error{t.reads, t.smallUpdate, t.cascade, t.hardCap, t.migration, t.trail} {
		if err := s(); err != nil {
			return err
		}
	}
	t.say("That was the whole tour. The server ends when its client closes stdin, and the throw-away Postgres goes with it.")
	return nil
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// sandbox is a throw-away Postgres with the demo data and a configuration for the server on it.
type sandbox struct {
	cluster *pgtemp.Cluster
	urls    pgtemp.URLs
	dir     string
	config  string
}

func openSandbox(ctx context.Context, seed uint64, progress func(string, ...any)) (_ *sandbox, err error) {
	cluster, err := pgtemp.Start(ctx, pgtemp.Options{Logf: progress})
	if err != nil {
		return nil, fmt.Errorf("starting a throw-away Postgres: %w", err)
	}
	b := &sandbox{cluster: cluster}
	defer func() {
		if err != nil {
			_ = b.close() // the first error counts
		}
	}()
	if b.urls, err = cluster.CreateDatabase(ctx, "shop"); err != nil {
		return nil, fmt.Errorf("creating the demo database: %w", err)
	}
	progress("filling it with demo data (seed %d)", seed)
	conn, err := pgx.Connect(ctx, b.urls.Super)
	if err != nil {
		return nil, fmt.Errorf("connecting to the demo database: %w", err)
	}
	defer func() { err = firstError(err, conn.Close(ctx)) }()
	if err := Seed(ctx, conn, seed); err != nil {
		return nil, fmt.Errorf("filling the demo database: %w", err)
	}
	if b.dir, err = os.MkdirTemp("", "sw-postgres-mcp-demo-"); err != nil {
		return nil, fmt.Errorf("making a directory for the demo's configuration: %w", err)
	}
	b.config = filepath.Join(b.dir, "config.json")
	if err := os.WriteFile(b.config, []byte(demoConfig), 0o600); err != nil {
		return nil, fmt.Errorf("writing the demo's configuration: %w", err)
	}
	return b, nil
}

// demoConfig is the server's configuration in the demo. The connection strings come by environment.
const demoConfig = `{
  "allowlist": {
    "write": {"tables": ["public.customers", "public.orders", "public.order_items", "public.products"]}
  },
  "database": {"migrationRole": "migrator"},
  "callerId": "demo"
}
`

// env are the variables that the server is to run with.
func (b *sandbox) env() map[string]string {
	return map[string]string{"DATABASE_URL_READONLY": b.urls.Readonly, "DATABASE_URL_WRITER": b.urls.Writer}
}

func (b *sandbox) close() error {
	var err error
	if b.dir != "" {
		err = os.RemoveAll(b.dir)
	}
	return firstError(err, b.cluster.Stop())
}

// Sandbox starts the demo's Postgres for `demo --serve`: it returns the configuration file and the
// environment that the server is to run with, and what ends it all.
func Sandbox(ctx context.Context, seed uint64, progress func(string, ...any)) (config string, env map[string]string, stop func() error, err error) {
	b, err := openSandbox(ctx, seed, progress)
	if err != nil {
		return "", nil, nil, err
	}
	return b.config, b.env(), b.close, nil
}

type tour struct {
	o    TourOptions
	ctx  context.Context //nolint:containedctx // a tour is one call; its steps share its context
	box  *sandbox
	c    *client
	page string
	step int
}

func (t *tour) line(format string, args ...any) {
	_, _ = fmt.Fprintf(t.o.Out, format+"\n", args...) // a reader that is gone ends the process anyway
}

func (t *tour) progress(format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stderr, "  "+format+"\n", args...) // progress is not part of the transcript
}

func (t *tour) title(s string) { t.line("# %s\n", s) }
func (t *tour) say(s string)   { t.line("%s\n", s) }

func (t *tour) head(s string) {
	t.step++
	t.line("## %d. %s\n", t.step, s)
}

// call prints what is sent and what comes back.
func (t *tour) call(tool string, args map[string]any, order ...string) (reply, error) {
	t.sent(tool, args, order)
	r, err := t.c.call(t.ctx, tool, args)
	if err != nil {
		return r, fmt.Errorf("calling %s: %w", tool, err)
	}
	t.got(r)
	return r, nil
}

func (t *tour) sent(tool string, args map[string]any, order []string) {
	t.line("```json\n→ %s %s\n```", tool, inOrder(args, order))
}

func (t *tour) got(r reply) {
	word := "←"
	if r.isError {
		word = "← refused:"
	}
	t.line("```json\n%s %s\n```\n", word, pretty(shorten(r.text)))
}

// inOrder renders args with the given keys first to last, since a reader expects table before where.
func inOrder(args map[string]any, order []string) string {
	var b bytes.Buffer
	b.WriteString("{")
	for i, k := range order {
		if i > 0 {
			b.WriteString(", ")
		}
		v := &bytes.Buffer{}
		enc := json.NewEncoder(v)
		enc.SetEscapeHTML(false)
		if enc.Encode(args[k]) != nil {
			continue
		}
		fmt.Fprintf(&b, "%q: %s", k, strings.TrimSpace(v.String()))
	}
	return b.String() + "}"
}

func pretty(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

func (t *tour) reads() error {
	t.head("Look around")
	t.say("`describe_schema` shows tables, keys and comments, and which tables may be written.")
	if _, err := t.call("describe_schema", map[string]any{"schema": "public", "detail": "summary"}, "schema", "detail"); err != nil {
		return err
	}
	t.say("`query` runs in a READ ONLY transaction on the readonly role. Values keep every digit.")
	if _, err := t.call("query", map[string]any{
		"statement": "SELECT status, count(*) AS orders, sum(total) AS total FROM orders GROUP BY status ORDER BY status",
		"reason":    "see what there is",
	}, "statement", "reason"); err != nil {
		return err
	}
	t.say("`explain_plan` shows how Postgres would run a read.")
	_, err := t.call("explain_plan", map[string]any{
		"statement": "SELECT * FROM orders WHERE customer_id = $1", "params": []any{42}, "reason": "is there an index?",
	}, "statement", "params", "reason")
	return err
}

// preview is what the tour needs of a preview's reply.
type preview struct {
	Status    string            `json:"status"`
	Token     string            `json:"plan_token"`
	Statement string            `json:"statement"`
	Params    []json.RawMessage `json:"params"`
}

func previewOf(r reply) (preview, error) {
	var p preview
	if err := json.Unmarshal(r.text, &p); err != nil {
		return p, fmt.Errorf("reading a preview: %w", err)
	}
	return p, nil
}

func (p preview) args() map[string]any {
	return map[string]any{"plan_token": p.Token, "statement": p.Statement, "params": p.Params}
}

// preview calls a tool that previews, and holds its answer to the status that the tour expects.
func (t *tour) preview(status, tool string, args map[string]any, order ...string) (preview, error) {
	r, err := t.call(tool, args, order...)
	if err != nil {
		return preview{}, err
	}
	p, err := previewOf(r)
	if err == nil && p.Status != status {
		err = fmt.Errorf("the preview's status is %q, and the tour expects %q", p.Status, status)
	}
	return p, err
}

func (t *tour) smallUpdate() error {
	t.head("A small change: previewed, then executed at once")
	t.say("`update_rows` really runs the statement and rolls it back. Up to 100 rows need nobody's decision.")
	p, err := t.preview("previewed", "update_rows", map[string]any{
		"table": "public.products", "set": map[string]any{"stock": 0}, "where": "id <= $1", "params": []any{5},
		"reason": "the first five products are sold out",
	}, "table", "set", "where", "params", "reason")
	if err != nil {
		return err
	}
	t.say("Nothing has changed yet. `execute_plan` gets back exactly what was previewed, and commits it together with its audit row.")
	r, err := t.call("execute_plan", p.args(), "plan_token", "statement", "params")
	if err != nil {
		return err
	}
	if r.isError {
		return fmt.Errorf("the small update was refused: %s", r.text)
	}
	return nil
}

func (t *tour) cascade() error {
	t.head("A change that reaches further than it looks: a person decides")
	t.say("Eight customers of a test tenant. Their orders and order items go with them, and every one of these rows counts.")
	p, err := t.preview("awaiting_approval", "delete_rows", map[string]any{
		"table": "public.customers", "where": "tenant = $1", "params": []any{"load-test"},
		"reason": "remove the tenant that was made for the load test",
	}, "table", "where", "params", "reason")
	if err != nil {
		return err
	}
	t.say("The plan waits. The agent may already call `execute_plan`: it blocks until a person has decided on the approval page.")
	r, err := t.decideWhile(p, "approve", map[string]any{"approvedBy": "guided tour"},
		"Approve it on the page", "(In this run the approval was sent over HTTP, with the secret that only the person who started the server has.)")
	if err != nil {
		return err
	}
	if r.isError && t.o.Auto {
		return fmt.Errorf("the approved delete was refused: %s", r.text)
	}
	return nil
}

// decideWhile calls execute_plan, has a decision made meanwhile, and prints both.
func (t *tour) decideWhile(p preview, verb string, body map[string]any, ask, auto string) (reply, error) {
	t.sent("execute_plan", p.args(), []string{"plan_token", "statement", "params"})
	type result struct {
		r   reply
		err error
	}
	ch := make(chan result, 1)
	go func() {
		for {
			r, err := t.c.call(t.ctx, "execute_plan", p.args())
			if err == nil && r.isError && bytes.Contains(r.text, []byte(`"AWAITING_APPROVAL"`)) {
				continue // a person takes the time a person takes; the agent asks again
			}
			ch <- result{r, err}
			return
		}
	}()
	if t.o.Auto {
		if err := t.decide(p.Token, verb, body); err != nil {
			return reply{}, err
		}
		t.say(auto)
	} else {
		t.line("\n**%s: %s**\n", ask, t.page)
	}
	res := <-ch
	if res.err != nil {
		return reply{}, fmt.Errorf("calling execute_plan: %w", res.err)
	}
	t.got(res.r)
	return res.r, nil
}

// decide posts a decision as the page does.
func (t *tour) decide(token, verb string, body map[string]any) error {
	u, err := url.Parse(t.page)
	if err != nil {
		return fmt.Errorf("reading the page's address: %w", err)
	}
	secret := u.Query().Get("token")
	u.RawQuery = ""
	u.Path = "/api/plans/" + token + "/" + verb
	b, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding a decision: %w", err)
	}
	req, err := http.NewRequestWithContext(t.ctx, http.MethodPost, u.String(), bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("making the request of a decision: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+secret)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("sending a decision: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return fmt.Errorf("the page answered %s to %s: %s", resp.Status, verb, answer)
	}
	return nil
}

func (t *tour) hardCap() error {
	t.head("Too much: refused, and nobody can approve it")
	t.say("13,200 cancelled orders are more than `write.hardMaxRows` (10,000). Finding that out costs finding 10,001 rows; the delete is not even run. There is no token and no way around it.")
	r, err := t.call("delete_rows", map[string]any{
		"table": "public.orders", "where": "status = $1", "params": []any{"cancelled"},
		"reason": "clean up cancelled orders",
	}, "table", "where", "params", "reason")
	if err != nil {
		return err
	}
	if !r.isError || !bytes.Contains(r.text, []byte("HARD_MAX_ROWS_EXCEEDED")) {
		return fmt.Errorf("the hard cap did not hold: %s", r.text)
	}
	return nil
}

func (t *tour) migration() error {
	t.head("A migration: rehearsed, and rejected with a reason")
	t.say("`run_migration` always waits for a person. The rehearsal measures locks, what is lost and what is rewritten.")
	p, err := t.preview("awaiting_approval", "run_migration", map[string]any{
		"statement": "ALTER TABLE public.orders DROP COLUMN total", "reason": "the total can be computed from the items",
	}, "statement", "reason")
	if err != nil {
		return err
	}
	r, err := t.decideWhile(p, "reject", map[string]any{"rejectedBy": "guided tour", "reason": "Not now. Reports read this column; ask me first."},
		"Reject it on the page, with a reason", "(In this run the rejection was sent over HTTP.)")
	if err != nil {
		return err
	}
	if t.o.Auto && !bytes.Contains(r.text, []byte("PLAN_REJECTED")) {
		return fmt.Errorf("the rejected migration was not refused: %s", r.text)
	}
	if bytes.Contains(r.text, []byte("PLAN_REJECTED")) {
		t.say("The agent reads the person's reason. A rejection is final.")
	}
	return nil
}

// trailSQL reads the audit table as the readonly role.
const trailSQL = `SELECT id, tool, status, coalesce(error_code, ''), coalesce(preview_rows::text, ''), coalesce(actual_rows::text, ''), coalesce(approved_by, '')
FROM mcp_audit.log ORDER BY id`

func (t *tour) trail() error {
	t.head("The record")
	t.say("Every preview, decision, execution and refusal is a row of `mcp_audit.log`. The row of a change is part of the same transaction as the change; the writer may add rows and do nothing else to them.")
	conn, err := pgx.Connect(t.ctx, t.box.urls.Readonly)
	if err != nil {
		return fmt.Errorf("reading the audit trail: %w", err)
	}
	defer func() { _ = conn.Close(t.ctx) }() // read only, nothing to lose
	rows, err := conn.Query(t.ctx, trailSQL)
	if err != nil {
		return fmt.Errorf("reading the audit trail: %w", err)
	}
	t.line("| # | tool | status | code | preview rows | actual rows | decided by |\n|---|---|---|---|---|---|---|")
	n := 0
	for rows.Next() {
		var id int64
		var tool, status, code, preview, actual, by string
		if err := rows.Scan(&id, &tool, &status, &code, &preview, &actual, &by); err != nil {
			return fmt.Errorf("reading the audit trail: %w", err)
		}
		n++
		t.line("| %d | %s | %s | %s | %s | %s | %s |", n, tool, status, code, preview, actual, by)
	}
	t.line("")
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading the audit trail: %w", err)
	}
	if n == 0 {
		return fmt.Errorf("the audit trail is empty")
	}
	return nil
}
