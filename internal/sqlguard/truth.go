package sqlguard

import (
	"encoding/json"

	pg "github.com/pganalyze/pg_query_go/v5"
)

func alwaysTrue(node *pg.Node, params []json.RawMessage, rel Relation) bool {
	return node.GetAConst().GetBoolval().GetBoolval()
}
