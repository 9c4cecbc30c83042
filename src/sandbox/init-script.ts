/** The first processes of sandboxes and of a held network namespace. docs/sandbox.md: Life of a run. */
import { FILTER_DESCRIPTOR, OPTIONS_DESCRIPTOR } from './bwrap-arguments.ts'
import { UDP_SECONDS } from './network/rules.ts'

/** Of the 128 that a user has. */
export const INOTIFY_INSTANCES = 32

/**
 * What the kernel counts for a user and every namespace above: one sandbox would use up what all of the user have. Only the namespace around bubblewrap
 * has the right to bound itself. Where `/proc/sys` is read-only, nothing is bounded.
 */
const BOUND_NAMESPACE = `for bound in inotify_instances=${INOTIFY_INSTANCES} inotify_watches=65536; do
{ echo "\${bound#*=}" >"/proc/sys/user/max_\${bound%=*}"; } 2>/dev/null
done`

/**
 * The first process of the sandbox's process namespace, as text for `sh -c`. As pid 1 its end ends everything inside. Words: the file of the
 * nftables rules or nothing, the file of the seccomp filter, how many characters of options follow on standard input, the command. Options are in
 * base64, because they have zero bytes. Pasta passes no other descriptor on.
 */
export const INIT_SCRIPT = `exec 7<&0 </dev/null
rules=$1 filter=$2 length=$3
shift 3
${BOUND_NAMESPACE}
if [ -n "$rules" ]; then
${loadRules('$rules')}
fi
options=$(head -c "$length" <&7)
[ "\${#options}" -eq "$length" ] || exit 98
printf %s "$options" | base64 -d | "$@" ${OPTIONS_DESCRIPTOR}<&0 ${FILTER_DESCRIPTOR}<"$filter" </dev/null 7<&- & command=$!
options=
${watchPipe('kill -9 "$command"')}`

/** What the holder of a network namespace says once its rules are in force. */
export const HELD = 'held'

/**
 * Holds a network namespace for sandboxes that enter it: loads the rules of a file, says so, and ends with the supervisor. As pid 1 its end ends the
 * namespace of pasta.
 */
export const HOLD_SCRIPT = `${BOUND_NAMESPACE}
${loadRules('$1')}
echo ${HELD}
read -r line`

/**
 * The first process of a plain sandbox. It leads the process group, and ends it with the supervisor. The command has no descriptor of the pipe.
 * `kill -s`, because dash refuses `kill -9 --`.
 */
export const PLAIN_INIT_SCRIPT = `exec 7<&0 </dev/null
"$@" 7<&- & command=$!
${watchPipe('kill -s KILL -- -$$')}`

/** The kernel keeps a UDP connection without a second answer, such as a look-up, for 30 s; also where `/proc/sys` is read-only. */
function loadRules(file: string): string {
  return `nft -f "${file}" || exit 97
{ echo ${UDP_SECONDS} >/proc/sys/net/netfilter/nf_conntrack_udp_timeout; } 2>/dev/null`
}

/** Standard input is a pipe that the supervisor alone holds: when the supervisor is gone, by whatever signal, `end` is executed. */
function watchPipe(end: string): string {
  return `(read -r line <&7; ${end}) & watcher=$!
wait "$command"
code=$?
kill -9 "$watcher"
exit "$code"`
}
