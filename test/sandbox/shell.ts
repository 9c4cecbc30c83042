/** Opens a shell in a sandbox: `npx node test/sandbox/shell.ts [none | internet]`. docs/sandbox.md: A shell inside. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createBwrapSandbox } from '../../src/sandbox/bwrap-sandbox.ts'
import { DEFAULT_LIMITS } from '../../src/sandbox/policy.ts'
import { RUN_AS } from './run-as.ts'

/** Standard input is closed inside, so the shell comes over a socket of its work directory. There is no terminal inside. */
const SHELL = `import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect('/work/shell')
for descriptor in 0, 1, 2: os.dup2(s.fileno(), descriptor)
os.execlp('sh', 'sh', '-i')`

const parent = mkdtempSync(join(tmpdir(), 'berth-sandbox-'))
chmodSync(parent, 0o755)
const sandbox = createBwrapSandbox(parent, RUN_AS)
const { workDirectory } = await sandbox.prepare()
const server = createServer((socket) => {
  process.stdin.pipe(socket).pipe(process.stdout)
})
await new Promise<void>((resolve) => server.listen(join(workDirectory, 'shell'), resolve))
chmodSync(join(workDirectory, 'shell'), 0o777)
sandbox.start({
  command: ['python3', '-c', SHELL],
  env: { PATH: '/usr/bin:/usr/sbin', TERM: process.env.TERM ?? 'dumb' },
  workDirectory,
  readOnly: [],
  network: process.argv[2] === 'internet' ? 'internet' : 'none',
  currentDirectory: '/work',
  limits: DEFAULT_LIMITS,
})
sandbox.output().pipe(process.stderr)
const { code } = await sandbox.wait()
await sandbox.destroy()
rmSync(parent, { recursive: true, force: true })
process.exit(code ?? 1)
