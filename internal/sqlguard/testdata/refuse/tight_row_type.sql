-- expect: TABLE_NOT_ALLOWLISTED
-- guard: tight
-- covers: the row type of a hidden table
select null::secret.salaries
