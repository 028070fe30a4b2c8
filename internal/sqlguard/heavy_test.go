package sqlguard

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeavyParts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ALTER TABLE customers ALTER COLUMN name TYPE varchar(20)":                                     "type",
		"ALTER TABLE customers ALTER COLUMN name SET NOT NULL":                                         "not null",
		"ALTER TABLE customers ALTER COLUMN name DROP NOT NULL":                                        "",
		"ALTER TABLE customers ALTER COLUMN name SET DEFAULT 'x'":                                      "",
		"ALTER TABLE customers ADD CHECK (id > 0)":                                                     "check",
		"ALTER TABLE customers ADD CHECK (id > 0) NOT VALID":                                           "",
		"ALTER TABLE customers ADD FOREIGN KEY (id) REFERENCES orders (id)":                            "foreign key",
		"ALTER TABLE customers ADD FOREIGN KEY (id) REFERENCES orders (id) NOT VALID":                  "",
		"ALTER TABLE customers VALIDATE CONSTRAINT c":                                                  "validate",
		"ALTER TABLE customers ADD UNIQUE (name)":                                                      "unique",
		"ALTER TABLE customers ADD CONSTRAINT u UNIQUE USING INDEX customers_name":                     "",
		"ALTER TABLE customers ADD COLUMN c int":                                                       "",
		"ALTER TABLE customers ADD COLUMN c int NOT NULL DEFAULT -5":                                   "",
		"ALTER TABLE customers ADD COLUMN c int[] DEFAULT '{}'::int[]":                                 "",
		"ALTER TABLE customers ADD COLUMN c timestamptz DEFAULT now()":                                 "",
		"ALTER TABLE customers ADD COLUMN c timestamptz DEFAULT CURRENT_TIMESTAMP":                     "",
		"ALTER TABLE customers ADD COLUMN c timestamptz DEFAULT clock_timestamp()":                     "default",
		"ALTER TABLE customers ADD COLUMN c float DEFAULT random() * 2":                                "default",
		"ALTER TABLE customers ADD COLUMN c int GENERATED ALWAYS AS IDENTITY":                          "default",
		"ALTER TABLE customers ADD COLUMN c int GENERATED ALWAYS AS (id * 2) STORED":                   "default",
		"ALTER TABLE customers ADD COLUMN c serial":                                                    "default",
		"ALTER TABLE customers ADD COLUMN c int CHECK (c > 0)":                                         "check",
		"ALTER TABLE customers ADD COLUMN c int UNIQUE":                                                "unique",
		"ALTER TABLE customers ADD COLUMN c int REFERENCES orders (id)":                                "",
		"ALTER TABLE customers ADD COLUMN c int DEFAULT 1 REFERENCES orders (id)":                      "foreign key",
		"ALTER TABLE customers SET UNLOGGED":                                                           "storage",
		"ALTER TABLE customers DROP COLUMN name":                                                       "",
		"ALTER TABLE customers RENAME COLUMN name TO title":                                            "",
		"ALTER TABLE customers ADD COLUMN a int, ALTER COLUMN name TYPE int USING 1, ADD CHECK (true)": "type, check",
		"CREATE INDEX ON customers (name)":                                                             "index",
		"ALTER TABLE customers ADD PRIMARY KEY USING INDEX i":                                          "not null",
		"ALTER TABLE customers ADD COLUMN c mood":                                                      "domain",
		"ALTER TABLE customers ADD COLUMN c pg_catalog.int4":                                           "",
		"DROP TABLE customers": "",
	} {
		s, err := openGuard().Migration(context.Background(), newFake(), text)
		require.NoError(t, err, text)
		var got []string
		for _, h := range s.DDL().Heavy {
			require.Equal(t, "customers", h.Table.Name, text)
			got = append(got, string(h.Kind))
		}
		require.Equal(t, want, strings.Join(got, ", "), text)
	}
}
