# Runs beside a throw-away Postgres, as the same user. $1 is the cluster's directory.
#
# stdin is a pipe from the process that started it. Each line is a process id: the one to end when
# the pipe closes, 0 for none, -1 for "just being started, look into postmaster.pid". The pipe
# closes when that process ends, in whatever way; then Postgres is ended and everything removed.
# After an orderly stop there is nothing left to do.
dir=$1
trap '' HUP INT TERM
pid=0
while read -r line; do pid=$line; done

if [ "$pid" = -1 ]; then
  pid=0
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    if [ -s "$dir/data/postmaster.pid" ]; then
      read -r pid <"$dir/data/postmaster.pid"
      break
    fi
    [ -d "$dir" ] || exit 0
    sleep 0.2
  done
fi
if [ "$pid" -gt 0 ]; then
  kill -QUIT "$pid"
  n=0
  while kill -0 "$pid"; do
    n=$((n + 1))
    [ "$n" -eq 50 ] && kill -KILL "$pid"
    [ "$n" -ge 60 ] && break # a zombie that nobody collects
    sleep 0.1
  done
fi 2>/dev/null
# A process that is still ending may write once more.
n=0
while [ -e "$dir" ] && [ "$n" -lt 20 ]; do
  rm -rf "$dir" 2>/dev/null
  n=$((n + 1))
  [ -e "$dir" ] && sleep 0.2
done
exit 0
