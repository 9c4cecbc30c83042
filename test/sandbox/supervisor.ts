/** A supervisor that a test kills: runs `sleep` in a sandbox below the directory that it is given. `bare`: without the watched pipe. `network`: with pasta. `space`: it enters a network namespace. `plain`: of the trusted kind. */
import { spawn } from 'node:child_process'
import { bwrapArguments } from '../../src/sandbox/bwrap-arguments.ts'
import { createSandbox } from '../../src/sandbox/create.ts'
import { DEFAULT_LIMITS } from '../../src/sandbox/policy.ts'
import { openSandboxSpace } from '../../src/sandbox/space/space.ts'
import { RUN_AS } from './run-as.ts'

const [parent, seconds, how] = process.argv.slice(2) as [string, string, string]
const policy = {
  // A session of its own leaves the process group, which is all that the trusted kind ends.
  command: ['sh', '-c', `${how === 'plain' ? '' : 'setsid'} sleep ${seconds} & sleep ${seconds}`] as const,
  env: { PATH: '/usr/bin' },
  workDirectory: undefined,
  readOnly: [],
  network: how === 'network' || how === 'space' ? ('internet' as const) : ('none' as const),
  currentDirectory: '/tmp',
  limits: DEFAULT_LIMITS,
}
if (how === 'bare') {
  const { options, command } = bwrapArguments(policy)
  const kept = options.filter(
    (word, at) => ![word, options[at - 1]].some((one) => ['--seccomp', '--die-with-parent'].includes(one ?? '')),
  )
  const program = '/usr/bin/bwrap'
  spawn(program, [...kept, '--', ...command], { stdio: 'ignore', detached: true, ...RUN_AS })
} else {
  const kind = how === 'plain' ? 'trusted' : 'sandboxed'
  const space = how === 'space' ? await openSandboxSpace(kind, parent, RUN_AS, 'internet') : undefined
  const sandbox = space?.createSandbox() ?? createSandbox(kind, parent, RUN_AS)
  await sandbox.prepare()
  sandbox.start(policy)
  sandbox.output().resume()
}
setInterval(() => {}, 1000)
