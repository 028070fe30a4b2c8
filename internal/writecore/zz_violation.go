package writecore

import _ "net/http"
