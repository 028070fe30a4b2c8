-- expect: ACCEPT
-- covers: a comment that swallows the end of the line
select name from customers -- top
