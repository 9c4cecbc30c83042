/** Starts the program of a checkout over a new store, has it filled, and keeps what it wrote. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, copyFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync } from 'node:zlib'
import { FIXED, fill } from './fill.ts'

const MAX_START_MS = 60_000

/** `scratch`: a folder to be made and used; `to`: where the fixture goes. */
type Keeping = { checkout: string; engine: 'sqlite' | 'postgres'; scratch: string; to: string }

/** Gives how many answers were kept. */
export async function keepStore({ checkout, engine, scratch, to }: Keeping): Promise<number> {
  mkdirSync(scratch, { recursive: true })
  const data = join(scratch, 'data')
  const server = engine === 'postgres' ? await startServer(scratch) : undefined
  const database = server?.url ?? `sqlite:${join(data, 'berth.db')}`
  try {
    const program = await startProgram(checkout, { BERTH_DATA: data, DATABASE_URL: database })
    const credentials = JSON.parse(readFileSync(join(data, 'credentials.json'), 'utf8'))
    const answers = await fill(program.address, credentials).finally(program.stop)
    writeFileSync(join(to, 'answers.json.gz'), gzipSync(JSON.stringify(answers)))
    for (const name of ['keys.json', 'credentials.json']) copyFileSync(join(data, name), join(to, name))
    if (server === undefined) writeFileSync(join(to, 'store.db.gz'), gzipSync(wholeFile(data, scratch)))
    else writeFileSync(join(to, 'store.sql.gz'), gzipSync(server.dump()))
    return answers.length
  } finally {
    await server?.stop()
  }
}

/** The database as one file, including its write-ahead log. */
function wholeFile(data: string, scratch: string): Buffer {
  const file = join(scratch, 'whole.db')
  const database = new DatabaseSync(join(data, 'berth.db'))
  database.prepare('VACUUM INTO ?').run(file)
  database.close()
  return readFileSync(file)
}

async function startProgram(checkout: string, settings: Record<string, string>) {
  const runtime = globSync('node_modules/{node,node-linux-*}/bin/node', { cwd: checkout })[0]
  if (runtime === undefined) throw new Error(`${checkout} has no runtime`)
  const env = {
    PATH: process.env.PATH,
    ...settings,
    HOST: '127.0.0.1',
    PORT: '0',
    BERTH_EDGE_PORT: 'off',
    BERTH_RATE_LIMITS: 'off',
    ...FIXED,
    // An unused address: the fixture must not depend on the network of the machine.
    BERTH_DNS_SERVERS: '127.0.0.1:1',
  }
  const words = [join(checkout, 'bin', 'berth.mjs')]
  const child = spawn(join(checkout, runtime), words, { cwd: checkout, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const said: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => said.push(String(piece)))
  const closed = once(child, 'close')
  const stop = async () => {
    child.kill('SIGTERM')
    await closed
  }
  const until = Date.now() + MAX_START_MS
  for (;;) {
    const address = /berth listening on (http:\S+)/.exec(said.join(''))?.[1]
    if (address !== undefined) return { address, stop }
    if (child.exitCode !== null || Date.now() > until) throw new Error(`the program did not start: ${said.join('')}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** A PostgreSQL of Debian, whose own `pg_dump` writes a store as statements. */
async function startServer(scratch: string) {
  const bin = globSync('/usr/lib/postgresql/*/bin').sort().at(-1)
  if (bin === undefined) throw new Error("no PostgreSQL: install Debian's postgresql and postgresql-client")
  const folder = join(scratch, 'postgres')
  mkdirSync(folder)
  // PostgreSQL refuses to run as root.
  const user = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {}
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid)
  const options = { cwd: '/', ...user, stdio: 'pipe' } as const
  execFileSync(join(bin, 'initdb'), ['-D', folder, '-U', 'berth', '-A', 'trust', '-E', 'UTF8', '--locale=C'], options)
  const port = await freePort()
  const started = ['-D', folder, '-p', String(port), '-k', folder, '-h', '127.0.0.1']
  const child = spawn(join(bin, 'postgres'), started, { ...user, cwd: '/', stdio: 'ignore' })
  const closed = once(child, 'close')
  const url = `postgres://berth@127.0.0.1:${port}/postgres`
  for (let tries = 0; ; tries++) {
    try {
      execFileSync(join(bin, 'pg_isready'), ['-d', url], { stdio: 'pipe' })
      break
    } catch (error) {
      if (tries === 100) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  return {
    url,
    /** Lines of a backslash are for psql alone, and `set_config` would leave the session without a search path. */
    dump: () =>
      execFileSync(join(bin, 'pg_dump'), ['--no-owner', '--no-privileges', '--inserts', '--rows-per-insert=100', url], {
        encoding: 'utf8',
        maxBuffer: 64 * 1024 * 1024,
      })
        .split('\n')
        .filter((line) => !/^(\\|SELECT pg_catalog\.set_config\('search_path'|SET transaction_timeout)/.test(line))
        .join('\n'),
    stop: async () => {
      child.kill('SIGINT')
      await closed
    },
  }
}

function idOf(option: '-u' | '-g'): number {
  return Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }))
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
}
