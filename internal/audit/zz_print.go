package audit

import (
	"fmt"
	"os"
)

func init() { fmt.Println(); fmt.Fprintln(os.Stdout); os.Exit(3); println() }
