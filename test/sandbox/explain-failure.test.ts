/** What the operator reads about a sandbox that does not start. docs/sandbox.md: A sandbox that does not start. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainFailure } from '../../src/sandbox/explain-failure.ts'

/** Word by word what the programs printed, and words of the sentence. */
const CASES: readonly (readonly [output: string, sentence: RegExp])[] = [
  ['spawn pasta ENOENT', /program pasta is missing.*apt-get install passt/],
  ['spawn unshare ENOENT', /install util-linux/],
  ['init: 4: nft: not found', /program nft is missing.*apt-get install nftables/],
  ['init: line 7: bwrap: command not found', /program bwrap is missing.*apt-get install bubblewrap/],
  ['bwrap: execvp prlimit: No such file or directory', /program prlimit is missing.*util-linux/],
  [
    'Failed to send 45 bytes to syslog\nFailed to open tun socket in namespace\n',
    /cannot open \/dev\/net\/tun: run `chmod 0666 \/dev\/net\/tun`/,
  ],
  ['Failed to open() /dev/net/tun: Permission denied', /chmod 0666 \/dev\/net\/tun/],
  ['bwrap: setting up uid map: Operation not permitted', /remove NoNewPrivileges/],
  ['bwrap: setting up uid map: Permission denied', /AppArmor.*apparmor_parser -r/],
  [
    'bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)',
    /user\.max_user_namespaces/,
  ],
  ["Couldn't create user namespace: No space left on device", /user\.max_user_namespaces/],
  ['clone: No space left on device', /user\.max_net_namespaces/],
  ['unshare: unshare failed: No space left on device', /user\.max_user_namespaces/],
  [
    'bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.',
    /unprivileged user namespaces are off/,
  ],
  ["Couldn't create user namespace: Operation not permitted", /unprivileged user namespaces are off/],
  ['unshare: unshare failed: Operation not permitted', /unprivileged user namespaces are off/],
  ['External interface not usable', /no network interface with a default route/],
  ['init: 8: cannot open /root/runs/1/own/filter.bpf: Permission denied', /chmod o\+x/],
  ["bwrap: Can't find source path /root/runs/1/work: Permission denied", /chmod o\+x/],
  ['rules.nft:1:1-1: Error: Could not process rule: No such file or directory', /load the kernel modules nf_tables/],
  ['bwrap: something that is new', /said: bwrap: something that is new$/],
  ['Failed to send 45 bytes to syslog\n', /without a message/],
]

for (const [output, sentence] of CASES)
  test(`the operator reads what to do: ${JSON.stringify(output)}`, () => {
    assert.match(explainFailure(output), sentence)
    assert.equal(explainFailure(output).includes('\n'), false)
  })
