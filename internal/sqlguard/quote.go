package sqlguard

import "strings"

// quotedWords are the key words that are not free to use as names in every position: all but the
// unreserved ones of Postgres 14 to 18 (manual, appendix C). quote_ident quotes the same set.
var quotedWords = func() map[string]bool {
	const words = `all analyse analyze and any array as asc asymmetric authorization between bigint
binary bit boolean both case cast char character check coalesce collate collation column
concurrently constraint create cross current_catalog current_date current_role current_schema
current_time current_timestamp current_user dec decimal default deferrable desc distinct do else end
except exists extract false fetch float for foreign freeze from full grant greatest group grouping
having ilike in initially inner inout int integer intersect interval into is isnull join json
json_array json_arrayagg json_exists json_object json_objectagg json_query json_scalar
json_serialize json_table json_value lateral leading least left like limit localtime localtimestamp
merge_action national natural nchar none normalize not notnull null nullif numeric offset on only or
order out outer overlaps overlay placing position precision primary real references returning right
row select session_user setof similar smallint some substring symmetric system_user table
tablesample then time timestamp to trailing treat trim true union unique user using values varchar
variadic verbose when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest
xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable`
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}()

// QuoteIdent writes one identifier as SQL: as it is where every supported Postgres reads it back
// unchanged, else in double quotes (manual, 4.1.1). It never changes which name is meant.
func QuoteIdent(s string) string {
	if plainIdent(s) && !quotedWords[s] {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// QuoteName writes a qualified name; an empty schema leaves the name unqualified.
func QuoteName(schema, name string) string {
	if schema == "" {
		return QuoteIdent(name)
	}
	return QuoteIdent(schema) + "." + QuoteIdent(name)
}

func plainIdent(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c == '_':
		case c >= '0' && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return true
}

// fold lower-cases as Postgres does with an unquoted name in a UTF-8 database: ASCII only.
func fold(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r >= 'A' && r <= 'Z' }) < 0 {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
