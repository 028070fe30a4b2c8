-- expect: INVALID_INPUT
-- covers: a byte order mark
﻿select 1
