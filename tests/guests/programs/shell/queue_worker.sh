#!/bin/bash
# A file-based job queue: enqueue, workers, retries, dead letters, state counts.
set -u
rm -rf queue && mkdir -p queue/{new,running,done,failed}
enqueue() { local id; id=$(printf '%04d' "$(( $(ls queue/new | wc -l) + 1 ))"); printf '%s\n' "$*" > "queue/new/$id.job"; echo "queued $id: $*"; }
run_one() {
  local job=$1 name tries cmd
  name=$(basename "$job" .job)
  mv "$job" "queue/running/$name.job"
  cmd=$(< "queue/running/$name.job")
  for tries in 1 2 3; do
    if out=$(bash -c "$cmd" 2>&1); then
      echo "job $name ok (try $tries): $out"
      mv "queue/running/$name.job" queue/done/
      return 0
    fi
  done
  echo "job $name failed: ${out:-no output}"
  mv "queue/running/$name.job" queue/failed/
  return 1
}
enqueue 'echo hello'
enqueue 'expr 6 \* 7'
enqueue 'echo oops; exit 1'
enqueue 'n=$(cat counter 2>/dev/null || echo 0); echo $((n + 1)) > counter; [ "$n" -ge 2 ] && echo "third time lucky"'
enqueue 'cat /no/such/file 2>/dev/null'
ok=0 bad=0
for job in queue/new/*.job; do
  if run_one "$job"; then ((ok++)); else ((bad++)); fi
done
echo "ok=$ok bad=$bad"
for state in new running done failed; do printf '%-8s %d\n' "$state" "$(find queue/$state -type f | wc -l)"; done
echo "dead letters:"; for f in queue/failed/*; do echo "  $(basename "$f"): $(cat "$f")"; done
while read -r pri task; do echo "$pri $task"; done <<< $'3 low\n1 high\n2 mid' | sort -n | cut -d' ' -f2 | xargs
stack=(); push() { stack+=("$1"); }; pop() { top=${stack[-1]}; unset 'stack[-1]'; }
push a; push b; push c; pop; echo "popped $top, left ${stack[*]}"
exec 5<> pipe_file; echo "via fd" >&5; exec 5>&-; cat pipe_file
