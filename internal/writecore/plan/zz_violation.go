package plan

import _ "github.com/jpka/sw-postgres-mcp/internal/sqlguard"
