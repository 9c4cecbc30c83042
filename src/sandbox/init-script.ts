/**
 * The first process of the sandbox's process namespace, as text for `sh -c`. As pid 1 its end ends everything inside. Standard input is a
 * pipe that the supervisor alone holds: when the supervisor is gone, by whatever signal, this script ends.
 */
export const INIT_SCRIPT = `exec 7<&0 </dev/null
"$@" 7<&- & command=$!
(read -r line <&7; kill -9 "$command") & watcher=$!
wait "$command"
code=$?
kill -9 "$watcher"
exit "$code"`
