package postgres_test

// samples are values of every built-in type that a column can have, by pg_type.typname. TestCodec fails
// for a type that is neither here nor in notTried. Fuzzing begins with them.
var samples = map[string][]string{
	"aclitem":        {"=r/writer", "readonly=arwd/writer"},
	"bit":            {"", "101", "00000000000000000"},
	"bool":           {"t", "false"},
	"box":            {"(1,1),(0,0)", "(1e+300,Infinity),(-0.5,-1)"},
	"bpchar":         {"", "a", "padded   ", `q"\,{}`},
	"bytea":          {`\x`, `\xdeadbeef00`, `\\escaped`},
	"char":           {"", "a", `"`, `\`},
	"cid":            {"0", "4294967295"},
	"cidr":           {"10.0.0.0/8", "2001:db8::/32"},
	"circle":         {"<(0,0),1>", "<(-1.5,1e+300),0>"},
	"date":           {"2026-01-31", "infinity", "-infinity", "0044-03-15 BC", "5874897-12-31"},
	"datemultirange": {"{}", "{[2026-01-01,2026-02-01),[2027-01-01,)}"},
	"daterange":      {"empty", "[2026-01-01,2026-02-01)", "(,)", "[-infinity,infinity]"},
	"float4":         {"0.1", "-0", "NaN", "-Infinity", "3.4028235e+38", "1e-45"},
	"float8":         {"0.1", "-0", "NaN", "Infinity", "1.7976931348623157e+308", "5e-324", "9007199254740993"},
	"inet":           {"10.1.2.3/8", "::ffff:1.2.3.4", "127.0.0.1"},
	"int2":           {"-32768", "32767"},
	"int2vector":     {"", "1 2 3"},
	"int4":           {"0", "-2147483648", "2147483647"},
	"int4multirange": {"{}", "{[1,3),[5,)}"},
	"int4range":      {"empty", "[1,5)", "(,)"},
	"int8":           {"9007199254740993", "-9223372036854775808", "9223372036854775807", "0"},
	"int8multirange": {"{[9007199254740993,9223372036854775807)}"},
	"int8range":      {"[9007199254740993,9223372036854775807)", "empty"},
	"interval":       {"1 year 2 mons -3 days +04:05:06.789", "00:00:00", "-178000000 years", "-1 days +02:00:00", "-00:00:00.000001"},
	"json": {
		`{"a": 9007199254740993.10, "a": 1}`, `[1, [2], null]`, `"a string"`, `null`, `12345678901234567890.10`, `true`, `"5"`,
		"{ \"x\" :\n 1 }", `"\ud83d"`, `"\u0000"`, `[]`, `1e400`, "[\"\u2028\"]", `""`,
	},
	"jsonb":          {`{"b": 1.10, "a": [null]}`, `"s"`, `null`, `[]`, `[[1], [2]]`, `[null]`, `-0.0`, `1e400`, `false`, "\"\u2029\u20ac\"", `"{}"`},
	"jsonpath":       {`$.a[*] ? (@ > 1)`, `strict $."b c"`},
	"line":           {"{1,-1,0}"},
	"lseg":           {"[(0,0),(1,1)]"},
	"macaddr":        {"08:00:2b:01:02:03"},
	"macaddr8":       {"08:00:2b:01:02:03:04:05"},
	"money":          {"$1,234.56", "-$92,233,720,368,547,758.08", "0"},
	"name":           {"", "x", `q"\,{} NULL`},
	"numeric":        {"1.10", "0", "-0.000000000000000000000000000001", "NaN", "Infinity", "-Infinity", "12345678901234567890123456789.10", "1e1000"},
	"nummultirange":  {"{[1.10,2.20],(3,4)}"},
	"numrange":       {"[1.10,2.20]", "(,1)"},
	"oid":            {"0", "4294967295"},
	"oidvector":      {"", "1 4294967295"},
	"path":           {"((0,0),(1,1))", "[(0,0),(1,1)]"},
	"pg_lsn":         {"0/0", "16/B374D848"},
	"pg_snapshot":    {"10:20:10,14,15", "1:1:"},
	"point":          {"(1.5,-0)", "(NaN,Infinity)"},
	"polygon":        {"((0,0),(1,1),(2,0))"},
	"refcursor":      {"", "<unnamed portal 1>"},
	"regclass":       {"pg_class", "-", "4711", "information_schema.columns"},
	"regcollation":   {`"C"`, "-"},
	"regconfig":      {"english", "-"},
	"regdictionary":  {"simple", "-"},
	"regnamespace":   {"pg_catalog", "-"},
	"regoper":        {"||/", "0"},
	"regoperator":    {"+(integer,integer)", "-(NONE,bigint)", "0"},
	"regproc":        {"now", "-"},
	"regprocedure":   {"abs(integer)", "now()", "-"},
	"regrole":        {"writer", "-"},
	"regtype":        {"character varying[]", "timestamp with time zone", `"char"`, "-"},
	"text":           {"", "NULL", "null", `q"\,;{}()[] '`, "line\nline\r\t\x01\x7f", "\u2028\u2029ä😀", "[1]", `{"a":1}`, "  x  ", `\x41`, "{}", "true", "1e5"},
	"tid":            {"(0,1)", "(4294967295,65535)"},
	"time":           {"00:00:00", "23:59:59.999999", "24:00:00"},
	"timestamp":      {"2026-01-01 12:00:00.123456", "infinity", "4714-11-24 00:00:00 BC", "294276-12-31 23:59:59.999999"},
	"timestamptz":    {"2026-01-01 12:00:00.123456+00", "-infinity", "1883-11-18 12:00:00-06"},
	"timetz":         {"04:05:06.789-08", "00:00:00+15:59:59"},
	"tsmultirange":   {`{["2026-01-01 00:00:00","2026-01-02 00:00:00"]}`},
	"tsquery":        {"'fat' & ( 'rat' | 'cat' )", "'it''s':*A", ""},
	"tsrange":        {`["2026-01-01 00:00:00",infinity)`, "empty"},
	"tstzmultirange": {`{["2026-01-01 00:00:00+00","2026-01-02 00:00:00+00"]}`, "{}"},
	"tstzrange":      {`["2026-01-01 00:00:00+00",)`},
	"tsvector":       {"'a':1A 'b''c':2,3", ""},
	"txid_snapshot":  {"10:20:10,14,15"},
	"uuid":           {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
	"varbit":         {"", "10101"},
	"varchar":        {"", "varying", "ä"},
	"xid":            {"0", "4294967295"},
	"xid8":           {"0", "18446744073709551615"},
	"xml":            {`<a b="c">x</a>`, "text", "<?xml version=\"1.0\"?><a/>", "<a>\n</a>"},

	// The test's own types.
	"colour": {"red", `it's, "ok"`, "NULL", `\{}`, ""},
	"words":  {"[a,b)", "empty", `["a b","c,d"]`},
	"wordss": {"{[a,b)}", "{}"},
	"pair":   {"(1,a)", "(,)", `(-1,"q""\\,()")`, `(1,"")`},
	"tree":   {`("(1,a)","{""(2,b)"",NULL}")`, "(,)"},
	"rows":   {"(1,{red})", "(,)"},
	"deep":   {"1", "99"},
}

// notTried are the types of columns that no value can be given for, so that there is nothing to give back.
var notTried = map[string]string{
	"gtsvector":                    "internal to GiST indexes: the input function refuses everything",
	"pg_brin_bloom_summary":        "internal to BRIN indexes: the input function refuses everything",
	"pg_brin_minmax_multi_summary": "internal to BRIN indexes: the input function refuses everything",
	"pg_dependencies":              "internal to extended statistics: the input function refuses everything",
	"pg_mcv_list":                  "internal to extended statistics: the input function refuses everything",
	"pg_ndistinct":                 "internal to extended statistics: the input function refuses everything",
	"pg_node_tree":                 "internal to the catalog: the input function refuses everything",
}

// ownTypes are what a database adds to the built-in types.
const ownTypes = `
CREATE TYPE colour AS ENUM ('red', 'it''s, "ok"', 'NULL', '\{}', '');
CREATE TYPE words AS RANGE (SUBTYPE = text, MULTIRANGE_TYPE_NAME = wordss);
CREATE TYPE pair AS (a int, b text);
CREATE TYPE tree AS (one pair, many pair[]);
CREATE TABLE rows (id bigint, colours colour[]);
CREATE DOMAIN shallow AS int CHECK (VALUE < 100);
CREATE DOMAIN deep AS shallow;`

var ownNames = []string{"colour", "words", "wordss", "pair", "tree", "rows", "deep"}
