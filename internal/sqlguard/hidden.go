package sqlguard

import (
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// Under a read allowlist the names, columns and sizes of hidden tables are hidden too. The system has
// many functions and types that show them for a number or a name; here is what each takes. See
// TestReadAllowlist and TestMetadataIsHidden.

// regTypes are the types whose values are numbers of objects and are shown as their names.
var regTypes = set(`regclass regproc regprocedure regtype regnamespace regoper regoperator regrole regconfig regdictionary regcollation`)

func regType(n Name) bool {
	return regTypes[n.Name] && (n.Schema == "" || n.Schema == "pg_catalog")
}

// unseenFunctions answer for a number, or list what there is.
var unseenFunctions = set(`pg_get_functiondef pg_get_object_address pg_get_publication_tables pg_get_replica_identity_index
pg_get_statisticsobjdef pg_get_statisticsobjdef_columns pg_get_statisticsobjdef_expressions satisfies_hash_partition
record_in record_recv array_in array_recv domain_in domain_recv range_in range_recv multirange_in multirange_recv
anyarray_in anyarray_recv enum_in enum_recv fmgr_c_validator fmgr_internal_validator fmgr_sql_validator
has_function_privilege has_type_privilege has_server_privilege has_foreign_data_wrapper_privilege has_largeobject_privilege
oidvectortypes pg_get_acl pg_describe_object pg_identify_object pg_identify_object_as_address pg_get_constraintdef pg_get_ruledef pg_get_triggerdef`)

func unseenFunction(name string) bool {
	if unseenFunctions[name] || strings.HasPrefix(name, "pg_stat_get_") || strings.HasPrefix(name, "pg_get_function_") || strings.HasSuffix(name, "_is_visible") {
		return true
	}
	for t := range regTypes {
		if rest, ok := strings.CutPrefix(name, t); ok && (rest == "in" || rest == "out" || rest == "send" || rest == "recv") {
			return true
		}
	}
	return false
}

// relationArg gives the argument by which a function names a relation.
func relationArg(name string, args []*pg.Node) (*pg.Node, bool) {
	var at int
	switch name {
	case "has_table_privilege", "has_sequence_privilege", "has_any_column_privilege": // ([user,] table, privilege)
		at = len(args) - 2
	case "has_column_privilege": // ([user,] table, column, privilege)
		at = len(args) - 3
	case "nextval":
		at = 0
	default:
		if !relationArgument[name] {
			return nil, false
		}
		at = 0
	}
	if at < 0 || at >= len(args) {
		return nil, true
	}
	return args[at], true
}

// nameArguments notes what a call names in its arguments.
func (f *found) nameArguments(name Name, args []*pg.Node) {
	if regType(name) {
		if len(args) == 1 {
			f.reg(name.Name, args[0])
		}
		return
	}
	if arg, ok := relationArg(name.Name, args); ok {
		if rel, ok := literalRelation([]*pg.Node{arg}); ok {
			f.addNamed(rel)
		}
	}
	switch name.Name {
	case "to_regtype", "to_regtypemod":
		f.typeName(args, 0)
	case "pg_input_is_valid", "pg_input_error_info":
		f.typeName(args, 1)
	}
}

func (f *found) typeName(args []*pg.Node, at int) {
	if at < len(args) {
		if s, ok := nameLiteral(args[at]); ok && f.first("y", Name{Name: s}) {
			f.typeNames = append(f.typeNames, s)
		}
	}
}

// reg handles a value that becomes a name: a literal is one, anything else is dynamic.
func (f *found) reg(kind string, arg *pg.Node) {
	if parts := strs(arg.GetColumnRef().GetFields()); kind == "regclass" && len(parts) > 0 && parts[len(parts)-1] == "tableoid" {
		f.tableoid = true
		return
	}
	s, ok := nameLiteral(arg)
	switch {
	case !ok:
	case kind == "regclass":
		if n, err := ParseName(s); err == nil {
			f.addNamed(n)
			return
		}
	case kind == "regtype":
		f.typeName([]*pg.Node{arg}, 0)
		return
	default:
		return
	}
	f.dynamic = "a cast to " + kind
}

// nameLiteral reads an argument as a name written as a literal, possibly cast to a type that keeps it.
// Digits are a number to Postgres and are not a name.
func nameLiteral(arg *pg.Node) (string, bool) {
	for arg.GetTypeCast() != nil {
		t := arg.GetTypeCast().TypeName
		parts := strs(t.GetNames())
		if len(parts) == 0 || len(t.ArrayBounds) > 0 || len(t.Typmods) > 0 {
			return "", false
		}
		switch last := parts[len(parts)-1]; {
		case last == "text", last == "varchar", last == "name", regTypes[last]:
			arg = arg.GetTypeCast().Arg
		default:
			return "", false
		}
	}
	s := arg.GetAConst().GetSval()
	if s == nil || strings.Trim(s.Sval, "0123456789- \t\n\r\f\v") == "" {
		return "", false
	}
	return s.Sval, true
}

// literalRelation reads a function's argument as a relation's name.
func literalRelation(args []*pg.Node) (Name, bool) {
	if len(args) == 0 || args[0] == nil {
		return Name{}, false
	}
	s, ok := nameLiteral(args[0])
	if !ok {
		return Name{}, false
	}
	name, err := ParseName(s)
	return name, err == nil
}

// readTypeNames takes the types that literals name for types of the text. A literal that is none names
// nothing; the server says so.
func (f *found) readTypeNames() {
	for i, s := range f.typeNames {
		if i == maxTypes {
			f.dynamic = "too many names of types as literals"
			break
		}
		if t := parseTypeName(s); t != nil {
			f.walk(t.ProtoReflect(), nil)
		}
	}
	f.typeNames = nil
}

func parseTypeName(s string) *pg.TypeName {
	const what = "type name"
	text := "SELECT NULL::" + s
	if _, err := scan(what, text); err != nil {
		return nil
	}
	node, err := parseOne(what, text)
	if err != nil {
		return nil
	}
	bare, err := parseOne(what, "SELECT NULL::int")
	if err != nil {
		return nil
	}
	cast := func(n *pg.Node) *pg.TypeCast {
		if list := n.GetSelectStmt().GetTargetList(); len(list) == 1 {
			return list[0].GetResTarget().GetVal().GetTypeCast()
		}
		return nil
	}
	c := cast(node)
	if c == nil || c.TypeName == nil {
		return nil
	}
	t := proto.Clone(c.TypeName).(*pg.TypeName)
	c.TypeName = cast(bare).TypeName
	if !sameTree(node, bare) {
		return nil
	}
	return t
}

// unseen refuses what names hidden relations outside FROM.
func (g *Guard) unseen(f *found, v *verdict) error {
	for _, n := range append(append([]Name{}, f.named...), f.userTypes()...) {
		if rel, ok := v.facts.Relations[n]; ok {
			if err := g.readable(tableOf(rel)); err != nil {
				return err
			}
			v.relyOn(rel)
		}
	}
	for n, parts := range v.facts.TypeParts {
		for _, p := range parts {
			switch {
			case p.Schema == "pg_catalog" && regTypes[p.Name]:
				f.dynamic = fmt.Sprintf("the type %s, which holds %s,", n, p.Name)
			case p.Kind != 0:
				if err := g.readable(Relation{Schema: p.Schema, Name: p.Name, Kind: p.Kind}); err != nil {
					return err
				}
			}
		}
	}
	if f.tableoid && !f.onlyTables(v) {
		f.dynamic = "a cast to regclass"
	}
	if f.dynamic != "" {
		return refusal.New(refusal.FunctionNotAllowed,
			fmt.Sprintf("The text holds %s of a value that is not a literal; with a read allowlist that could name hidden tables.", f.dynamic),
			"Write the table's name as a literal, e.g. 'public.orders'::regclass.")
	}
	return g.namesShown(f, v)
}

// onlyTables tells that a column tableoid can only be the system's: nothing else in the text has columns
// of its own naming.
func (f *found) onlyTables(v *verdict) bool {
	for _, n := range f.relations {
		if v.facts.Relations[n].Kind == 'v' {
			return false
		}
	}
	return !f.renames
}

// unseenBy refuses calls of the system's functions that could show what is hidden.
func (g *Guard) unseenBy(f *found, c call, routines []Routine, v *verdict) error {
	system := false
	for _, r := range routines {
		if r.ShowsNames && f.resultTaken(c) {
			return refuseMixed(fmt.Sprintf("the result of %s", c.name))
		}
		system = system || r.Schema == "pg_catalog"
		if r.Schema == "information_schema" {
			return unseenRefusal(c, "Use describe_schema for tables, columns, keys and indexes.")
		}
	}
	name := c.name.Name
	literal := func(at int) bool {
		if at < 0 || at >= len(c.args) {
			return false
		}
		_, ok := nameLiteral(c.args[at])
		return ok
	}
	switch {
	case !system:
		return nil
	case unseenFunction(name):
		return unseenRefusal(c, "Use describe_schema for tables, columns, keys and indexes.")
	case name == "format_type" && !(len(c.args) > 0 && systemType(c.args[0])):
		return unseenRefusal(c, "Use pg_typeof of a value.")
	case strings.HasPrefix(name, "to_reg") && !literal(0), strings.HasPrefix(name, "pg_input_") && !literal(1):
		return unseenRefusal(c, "Write the name as a literal.")
	case name == "has_schema_privilege":
		if at := len(c.args) - 2; literal(at) {
			s, _ := nameLiteral(c.args[at])
			if n, err := ParseName(s); err == nil && n.Schema == "" && (g.policy.Read.touches(n.Name) || systemSchema(n.Name)) {
				return nil
			}
		}
		return unseenRefusal(c, "Name a schema of the read allowlist as a literal.")
	}
	arg, wants := relationArg(name, c.args)
	if !wants {
		return nil
	}
	rel, ok := literalRelation([]*pg.Node{arg})
	if !ok {
		return refusal.New(refusal.FunctionNotAllowed,
			fmt.Sprintf("The function %s is only allowed with a literal table name: with a read allowlist any other argument could name hidden tables.", c.name),
			fmt.Sprintf("Write the name as a literal: %s('public.orders').", c.name))
	}
	// A name that does not exist reveals nothing.
	if r, known := v.facts.Relations[rel]; known {
		return g.readable(tableOf(r))
	}
	return nil
}

// tableOf is the table of an index, else the relation itself.
func tableOf(rel Relation) Relation {
	if (rel.Kind == 'i' || rel.Kind == 'I') && len(rel.Below) == 1 {
		return Relation{Schema: rel.Below[0].Schema, Name: rel.Below[0].Name, Kind: rel.Below[0].Kind}
	}
	return rel
}

func unseenRefusal(c call, hint string) error {
	return refusal.New(refusal.FunctionNotAllowed,
		fmt.Sprintf("The function %s could show names or sizes of tables that allowlist.read hides.", c.name), hint)
}

// systemType tells that an argument is the number of a type of the system, or a type's name as a
// literal, which is judged as a type.
func systemType(arg *pg.Node) bool {
	for arg.GetTypeCast() != nil {
		t := arg.GetTypeCast().TypeName
		parts := strs(t.GetNames())
		if len(parts) == 0 || len(t.ArrayBounds) > 0 {
			return false
		}
		switch parts[len(parts)-1] {
		case "regtype":
			_, ok := nameLiteral(arg)
			return ok
		case "oid", "int4", "int8":
			arg = arg.GetTypeCast().Arg
		default:
			return false
		}
	}
	i := arg.GetAConst().GetIval()
	return i != nil && i.Ival < firstUserType
}

const firstUserType = 16384 // FirstNormalObjectId

// readsAs16 refuses syntax that the parser here reads as SQL/JSON of Postgres 16 and an older server as
// calls of functions of that name.
func (f *found) readsAs16(version int) error {
	if f.newer == "" || version == 0 || version >= 160000 {
		return nil
	}
	return refusal.New(refusal.InvalidInput, fmt.Sprintf("The text holds %s, which this server (before Postgres 16) does not have or reads as something else.", f.newer),
		"Use jsonb_build_array, jsonb_build_object, jsonb_agg, jsonb_object_agg or jsonb_typeof.")
}
