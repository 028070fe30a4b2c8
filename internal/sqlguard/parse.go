package sqlguard

import (
	"errors"
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"github.com/pganalyze/pg_query_go/v5/parser"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// parse runs the C parser over text that was measured before. what names the text in messages.
func parse(what, text string) ([]*pg.Node, error) {
	result, err := pg.Parse(text)
	if err != nil {
		if tokens, scanErr := scan(what, text); scanErr == nil {
			if newer := newerRefusal(what, tokens); newer != nil {
				return nil, newer
			}
		}
		return nil, syntaxRefusal(what, text, err)
	}
	stmts := make([]*pg.Node, 0, len(result.Stmts))
	for _, raw := range result.Stmts {
		if raw.GetStmt() != nil {
			stmts = append(stmts, raw.Stmt)
		}
	}
	return stmts, nil
}

// parseOne insists on one statement.
func parseOne(what, text string) (*pg.Node, error) {
	stmts, err := parse(what, text)
	switch {
	case err != nil:
		return nil, err
	case len(stmts) != 1:
		return nil, refusal.New(refusal.InvalidInput, fmt.Sprintf("The %s is not one expression.", what), "Send one.")
	}
	return stmts[0], nil
}

// parseStatement is for the tools that take whole statements. It gives the statement, the text that
// goes out, and its tokens.
func parseStatement(text string) (*pg.Node, string, []token, error) {
	const what = "statement"
	line, tokens, err := clean(what, text, true)
	if err != nil {
		return nil, "", nil, err
	}
	if len(tokens) == 0 {
		return nil, "", nil, refusal.New(refusal.EmptyStatement, "The statement is empty.", "Send one SQL statement.")
	}
	stmts, err := parse(what, line)
	if err != nil {
		for _, t := range tokens { // say the more useful thing when both are wrong
			if t.kind == pg.Token_ASCII_59 {
				return nil, "", nil, multi()
			}
		}
		return nil, "", nil, err
	}
	switch len(stmts) {
	case 0:
		return nil, "", nil, refusal.New(refusal.EmptyStatement, "The statement is empty.", "Send one SQL statement.")
	case 1:
	default:
		return nil, "", nil, multi()
	}
	// What the agent wrote and what goes out must be the same statement.
	given, err := parseOne(what, text)
	if err != nil {
		return nil, "", nil, err
	}
	if !sameTree(given, stmts[0]) {
		return nil, "", nil, refusal.New(refusal.InvalidInput, "The statement reads differently without its comments.", "Remove the comments.")
	}
	return stmts[0], line, tokens, nil
}

func multi() error {
	return formMulti.refuse()
}

// syntaxRefusal turns the parser's error into a refusal. Its position counts characters from 1.
func syntaxRefusal(what, text string, err error) error {
	message := err.Error()
	if perr, ok := errors.AsType[*parser.Error](err); ok {
		message = perr.Message
	}
	if strings.Contains(message, "stack depth") {
		return refusal.New(refusal.InvalidInput, fmt.Sprintf("The %s is nested too deeply.", what),
			"Write it flatter; a long list of values fits one array parameter: `column = ANY($1)`.")
	}
	hint := "Correct the SQL. " + grammarHint
	if odd := oddSpace(text); odd != "" {
		hint = fmt.Sprintf("The text holds the invisible character %s, which Postgres takes for part of a name; remove it.", odd)
	}
	return refusal.New(refusal.InvalidInput, fmt.Sprintf("The %s cannot be parsed: %s.", what, shorten(message)), hint)
}

func shorten(s string) string {
	const most = 300
	s = strings.TrimSuffix(strings.ToValidUTF8(s, "�"), ".")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// oddSpace finds characters that look like nothing and are part of a name to the lexer.
func oddSpace(text string) string {
	for _, r := range text {
		switch r {
		case '\u00a0', '\ufeff', '\u200b', '\u200c', '\u200d', '\u2028', '\u2029', '\u202f', '\u3000':
			return fmt.Sprintf("U+%04X", r)
		}
	}
	return ""
}

// sameTree compares two trees apart from where things stand in the text. It is proto.Equal without
// the location fields, and needs no copies.
func sameTree(a, b proto.Message) bool {
	return sameMessage(a.ProtoReflect(), b.ProtoReflect())
}

func sameMessage(a, b protoreflect.Message) bool {
	if a.Descriptor() != b.Descriptor() || a.IsValid() != b.IsValid() {
		return false
	}
	same, fields := true, 0
	a.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if place(fd) {
			return true
		}
		fields++
		same = b.Has(fd) && sameField(fd, v, b.Get(fd))
		return same
	})
	if !same {
		return false
	}
	b.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if !place(fd) {
			fields--
		}
		return true
	})
	return fields == 0
}

func sameField(fd protoreflect.FieldDescriptor, a, b protoreflect.Value) bool {
	if fd.IsList() {
		x, y := a.List(), b.List()
		if x.Len() != y.Len() {
			return false
		}
		for i := range x.Len() {
			if !sameScalar(fd, x.Get(i), y.Get(i)) {
				return false
			}
		}
		return true
	}
	return !fd.IsMap() && sameScalar(fd, a, b)
}

func sameScalar(fd protoreflect.FieldDescriptor, a, b protoreflect.Value) bool {
	if fd.Kind() == protoreflect.MessageKind {
		return sameMessage(a.Message(), b.Message())
	}
	return a.Equal(b)
}

// place tells whether a field says where something stands in the text.
func place(fd protoreflect.FieldDescriptor) bool {
	if fd.Kind() != protoreflect.Int32Kind {
		return false
	}
	switch n := fd.Name(); n {
	case "location", "stmt_len", "stmt_location":
		return true
	default:
		return strings.HasSuffix(string(n), "_location")
	}
}
