-- expect: ACCEPT
-- covers: several semicolons at the end
select 1 ; ;
