-- expect: ACCEPT
-- covers: TypeName.array_bounds with a size
select '{1}'::int[3], '{{1}}'::int array
