-- expect: ACCEPT
-- covers: text beyond ASCII
select 'ünïcödé 漢字 🙂' as "größe", ñandú from (select 1 as ñandú) x
