-- expect: NOT_SELECT
-- covers: ImportForeignSchemaStmt
import foreign schema x limit to (a) from server s into public
