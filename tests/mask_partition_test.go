package tests

import "testing"

// Migrations that would ask a masked column by where its rows fit. Those behind OK are rightly taken.
var partitionAttacks = []string{
	// The default partition is looked through, and bounds may not overlap.
	"CREATE TABLE app.k_m PARTITION OF app.keyed FOR VALUES FROM ('m') TO ('n')",
	"CREATE TABLE app.k_d PARTITION OF app.listed FOR VALUES IN ('quartz')",
	"CREATE TABLE app.k_e PARTITION OF app.worded FOR VALUES FROM ('m') TO ('n')",
	"CREATE TABLE app.k_s PARTITION OF app.keyed FOR VALUES FROM ('m') TO ('n') PARTITION BY RANGE (id)",
	"CREATE TABLE app.k_b PARTITION OF app.below FOR VALUES FROM ('m') TO ('n')",
	"ALTER TABLE app.keyed ATTACH PARTITION app.loose FOR VALUES FROM ('m') TO ('n')",
	"ALTER TABLE app.listed ATTACH PARTITION app.loose FOR VALUES IN ('quartz')",
	"ALTER TABLE app.events ATTACH PARTITION app.loose FOR VALUES FROM ('2030-01-01') TO ('2031-01-01')",
	"ALTER TABLE app.plain ATTACH PARTITION app.masked_loose FOR VALUES FROM ('m') TO ('n')",
	// Rows that are moved into a new partition have to fit there.
	"CREATE TABLE app.e_25 PARTITION OF app.events FOR VALUES FROM ('2025-01-01') TO ('2026-01-01') PARTITION BY RANGE (payload)",
	"CREATE TABLE app.e_25 PARTITION OF app.events FOR VALUES FROM ('2025-01-01') TO ('2026-01-01') PARTITION BY LIST (lower(payload))",
	"CREATE TABLE app.e_25 PARTITION OF app.events (CHECK (payload > 'm')) FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')",
	"CREATE TABLE app.e_25 PARTITION OF app.events (CONSTRAINT c CHECK (lower(payload) LIKE 'm%')) FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')",
	"CREATE TABLE app.e_25 PARTITION OF app.events (payload WITH OPTIONS CHECK (payload > 'm')) FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')",
	"CREATE TABLE app.e_25 PARTITION OF app.events (CHECK (e_25 IS NOT NULL)) FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')",
	"CREATE TABLE app.heir (CHECK (payload > 'm')) INHERITS (app.masked_loose)",
	"CREATE TABLE app.e_25 PARTITION OF app.events (CHECK (e_25.row_to_json IS NOT NULL)) FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')",
	"CREATE TABLE app.heir (CHECK (heir IS NOT NULL)) INHERITS (app.masked_loose)",
	"ALTER TABLE app.events ADD CHECK (payload > 'm')",
	"ALTER TABLE app.events_24 ADD CHECK (payload > 'm') NOT VALID",
	"ALTER TABLE app.events ADD CONSTRAINT c CHECK (events IS NOT NULL)",
	"ALTER TABLE app.keyed ADD COLUMN extra int CHECK (code > 'm')",
	"OK CREATE TABLE app.e_25 PARTITION OF app.events FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')",
	"OK CREATE TABLE app.e_25 PARTITION OF app.events FOR VALUES FROM ('2025-01-01') TO ('2026-01-01') PARTITION BY RANGE (id)",
	"OK CREATE TABLE app.e_25 PARTITION OF app.events (CHECK (id > 0)) FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')",
	"OK CREATE TABLE app.p_1 PARTITION OF app.plain FOR VALUES FROM ('m') TO ('n')",
	"OK CREATE TABLE app.own (id bigint, payload text) PARTITION BY RANGE (payload)",
}

func TestPartitionsDoNotAskMaskedColumns(t *testing.T) {
	t.Parallel()
	db := maskWorld(t)
	db.Exec(t, `SET ROLE migrator;
		CREATE TABLE app.keyed (id bigint, code text) PARTITION BY RANGE (code); CREATE TABLE app.keyed_rest PARTITION OF app.keyed DEFAULT; INSERT INTO app.keyed VALUES (1, 'quartz');
		CREATE TABLE app.listed (id bigint, code text) PARTITION BY LIST (code); CREATE TABLE app.listed_rest PARTITION OF app.listed DEFAULT; INSERT INTO app.listed VALUES (1, 'quartz');
		CREATE TABLE app.worded (id bigint, code text) PARTITION BY RANGE (lower(code)); CREATE TABLE app.worded_rest PARTITION OF app.worded DEFAULT;
		CREATE TABLE app.above (id bigint, code text) PARTITION BY RANGE (id); CREATE TABLE app.below PARTITION OF app.above FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (code);
		CREATE TABLE app.plain (id bigint, code text) PARTITION BY RANGE (code);
		CREATE TABLE app.loose (id bigint, code text); CREATE TABLE app.masked_loose (id bigint, code text, payload text); RESET ROLE`)
	s := start(t, db, options{config: map[string]any{"mask": masksOf("app.keyed.code hash", "app.listed.code null", "app.worded.code hash", "app.above.code hash",
		"app.events.payload hash", "app.masked_loose.code hash", "app.masked_loose.payload hash")}})
	uncoverNothing(t, s, partitionAttacks, "MASKED_COLUMN")
}
