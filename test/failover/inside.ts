/**
 * Runs the drill inside Linux namespaces of its own: network, mounts and processes. The kernel ends everything in them together with
 * the first process, which dies with the caller: nothing is left behind, also after `kill -9`.
 */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canRun, skipReason, WITH_SBIN } from '../support/programs.ts'

/** Where the drill's processes keep their files; set inside the namespaces. */
const FOLDER = 'BERTH_FAILOVER_FOLDER'
const APART = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
const DRILL = 'failovers under Patroni'
/** What the drill starts, each with the words that show it is there, and the Debian package that has it. */
const PROGRAMS = [
  ['/usr/bin/patroni', ['--version'], 'patroni'],
  ['/usr/bin/patronictl', ['--help'], 'patroni'],
  ['etcd', ['--version'], 'etcd-server'],
  ['/usr/lib/postgresql/15/bin/postgres', ['--version'], 'postgresql-15'],
  ['haproxy', ['-v'], 'haproxy'],
  ['pgbouncer', ['--version'], 'pgbouncer'],
  ['nft', ['--version'], 'nftables'],
  ['ip', ['-V'], 'iproute2'],
] as const

/** The folder of the drill, inside its namespaces; undefined outside of them. */
export function folderInside(): string | undefined {
  return process.env[FOLDER]
}

/** Why the drill cannot run here; undefined where it can. Throws as `lacking` does. */
export function whyNoDrill(): string | undefined {
  for (const [program, words, packageName] of PROGRAMS) {
    if (!canRun(program, ...words)) return skipReason(program, packageName, DRILL)
  }
  const { status, stderr } = spawnSync('unshare', [...APART, 'true'], { encoding: 'utf8' })
  if (status === 0) return undefined
  const said = `namespaces cannot be made here (it takes root): ${stderr}`
  if (process.env.BERTH_TEST_PROGRAMS === 'all') throw new Error(said)
  return said
}

/** Runs these words, which start the drill, inside. Gives their exit code: 130 and 143 after SIGINT and SIGTERM. */
export async function runInside(words: string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-failover-'))
  chmodSync(folder, 0o755)
  // The shell is the first process of its namespace: it waits for processes whose parent was killed.
  const shell = ['sh', '-c', '"$@"; exit $?', 'sh']
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'unshare', ...APART, ...shell, ...words], {
    env: { ...process.env, PATH: WITH_SBIN, [FOLDER]: folder },
    stdio: 'inherit',
  })
  let code: number | undefined
  for (const [signal, ended] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.on(signal, () => {
      code = ended
      child.kill('SIGKILL')
    })
  }
  const own = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  // The mounts are gone with their namespace: these are the empty folders below them.
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  return code ?? own ?? 1
}
