package plan

import _ "/internal/sqlguard"
