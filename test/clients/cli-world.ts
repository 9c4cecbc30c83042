/** The published CLIs as users run them: child processes against a Berth that listens, in a home of their own. docs/spec/client-requests.md B. */
import assert from 'node:assert/strict'
import { type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { describe } from 'node:test'
import { unversionedPath } from '../../src/platform/http/route.ts'
import { ROUTES } from '../../src/routes.ts'
import { type Call, ENGINES, type Engine, onBothEngines, type World } from '../support/world.ts'
import { folderOf, isDriven, isWhole, note } from './ledger.ts'

const VERSIONS = ['39.1.3', '64.0.2'] as const
/** In between: each is driven where it asks something else, on one engine. */
const BETWEEN = ['33.7.1', '44.7.3', '50.0.1', '50.44.0', '56.5.0'] as const
export type Version = (typeof VERSIONS)[number] | (typeof BETWEEN)[number]

/** What 39.1.3 does not have. Each is looked for in what it says of itself. */
const ABSENT_FROM_39 = [
  'activity',
  'curl',
  'api',
  'env update',
  'domains verify',
  'project inspect',
  'project rename',
  'project pause',
  'project resume',
  'teams members',
  'tokens',
  'webhooks',
]
const ABSENT: Partial<Record<Version, string[]>> = {
  '33.7.1': ['curl'],
  '39.1.3': ABSENT_FROM_39,
  '44.7.3': ['curl'],
}
/** For a command that hangs. */
const MAX_MS = 240_000
/** The CLI calls this host whatever its settings, and works without it: `webhooks create` looks up the names of events there. */
const ASKED_IN_VAIN = ['openapi.vercel.sh']
/** These versions send error reports to their makers, whatever their settings. */
const TOLD_IN_VAIN: Partial<Record<Version, string>> = { '44.7.3': 'sentry.io', '50.0.1': 'sentry.io' }

/** What a command did: its exit code, what it printed, and what it asked of Berth (`GET /v2/user`). */
export type Said = { code: number; out: string; err: string; asked: string[] }
export type How = {
  input?: string
  /** null: none is given, so that the CLI looks for one in its own folder. */
  token?: string | null
  /** The folder that the command is run in, below the world's own. */
  folder?: string
  /** On a terminal: waits for the first text of each pair and then types the second. */
  typed?: [string, string][]
  /** No flags but the command's: the CLI reads address and token in the directory that it has in the home of each user. */
  fromFolder?: true
  /** A command that does not end on its own is ended once it has printed this. */
  until?: string
}

export type CliWorld = World & {
  version: Version
  cli: (args: string[], how?: How) => Promise<Said>
  /** As the CLI's own user: a token that is bound to the team. */
  api: Call
  teamToken: string
  /**
   * Notes what was seen of a command. One that this version does not have is only looked for in what it says of itself; one
   * whose route Berth does not have is noted as such.
   */
  works: (operation: string, run: () => Promise<void>, route?: string) => Promise<void>
  /** The path of a file below the folder of the world. */
  at: (...path: string[]) => string
  /** Links a folder to a project of the team without the CLI. */
  link: (project: { id: string }, folder?: string) => void
}

/** One test per CLI and engine, some at the same time: most of a run is the start of the CLI. */
export function onBothClis(
  name: string,
  run: (world: CliWorld) => Promise<void>,
  settings: Record<string, string> = {},
): void {
  describe(name, { concurrency: 3 }, () => {
    for (const version of VERSIONS) onCli(version, name, run, settings, enginesOf(version))
  })
}

/** As `onBothClis`, and by those between them on SQLite. 50.18 to 55 speak https only: by the settings in `https`, or on a laptop. */
export function onEveryCli(name: string, run: (world: CliWorld) => Promise<void>, https: Record<string, string>): void {
  describe(name, { concurrency: 3 }, () => {
    for (const version of VERSIONS) onCli(version, name, run, {}, enginesOf(version))
    for (const version of BETWEEN.filter((one) => isDriven(`cli-${one}`)))
      onCli(version, name, run, version === '50.44.0' ? https : {}, ['sqlite'])
  })
}

/** In short, one each. */
function enginesOf(version: (typeof VERSIONS)[number]): readonly Engine[] {
  return isWhole ? ENGINES : [version === '39.1.3' ? 'sqlite' : 'postgres']
}

function onCli(
  version: Version,
  name: string,
  run: (world: CliWorld) => Promise<void>,
  settings: Record<string, string>,
  engines: readonly Engine[],
): void {
  onBothEngines(
    `${name}, by the CLI ${version}`,
    async (world) => {
      const opened = await openCli(world, version)
      await run(opened)
      const outside = readFileSync(opened.at('outside'), 'utf8').split('\n')
      assert.deepEqual(
        outside.filter((host) => host !== '' && !ASKED_IN_VAIN.includes(host) && host !== TOLD_IN_VAIN[version]),
        [],
      )
    },
    { BERTH_PLATFORM_SUFFIX: 'apps.example.net', ...settings },
    engines,
  )
}

export async function openCli(world: World, version: Version): Promise<CliWorld> {
  const at = (...path: string[]) => join(world.folder, 'cli', ...path)
  for (const folder of ['home', 'settings', 'work']) mkdirSync(at(folder), { recursive: true })
  writeFileSync(at('outside'), '')
  const address = await world.listen()
  const asked: string[] = []
  world.app.server.prependListener('request', (request: IncomingMessage) => {
    asked.push(`${request.method} ${request.url!.split('?', 1)[0]}`)
  })
  const { userId, teamId } = world.credentials
  const bound = await world.operator('POST', '/operator/v1/tokens', { userId, teamId })
  const teamToken: string = bound.body.token

  const cli = async (
    args: string[],
    { input = '', token = teamToken, folder = 'work', typed, until, fromFolder }: How = {},
  ) => {
    mkdirSync(at(folder), { recursive: true })
    asked.length = 0
    const words = [programOf(version), ...args]
    if (fromFolder) {
      const own = at('home', '.local', 'share', 'com.vercel.cli')
      mkdirSync(own, { recursive: true })
      writeFileSync(join(own, 'config.json'), JSON.stringify({ api: address }))
      writeFileSync(join(own, 'auth.json'), JSON.stringify({ token }))
    } else {
      words.push('--api', address, '-Q', at('settings'), '--cwd', at(folder))
      if (token !== null) words.push('--token', token)
    }
    const { tls } = world.deps.config
    const env = { ...environmentOf(at), ...(tls && { NODE_EXTRA_CA_CERTS: tls.cert }) }
    const said =
      typed === undefined ? await run(words, { env, cwd: at(folder) }, input, until) : await type(words, env, typed)
    return { ...said, asked: [...asked] }
  }
  const link = (project: { id: string }, folder = 'work') => {
    mkdirSync(at(folder, '.vercel'), { recursive: true })
    const linked = { projectId: project.id, orgId: teamId }
    writeFileSync(at(folder, '.vercel', 'project.json'), JSON.stringify(linked))
  }
  const works = async (operation: string, run: () => Promise<void>, needed?: string) => {
    const cell = { client: `cli-${version}`, operation, engine: world.engine }
    const absent = ABSENT[version] ?? []
    if (absent.some((prefix) => `${operation} `.startsWith(`${prefix} `))) {
      assertAbsent(version, absent, operation)
      note({ ...cell, outcome: 'absent' })
    } else if (needed !== undefined && !hasRoute(needed)) {
      note({ ...cell, outcome: 'differs', why: `Berth has no \`${needed}\`.` })
    } else {
      await run()
      note({ ...cell, outcome: 'works' })
    }
  }
  return { ...world, version, cli, api: world.as(teamToken), teamToken, works, at, link }
}

/** `GET /user/tokens`, without version and with the names of parameters as they are in the table. */
function hasRoute(said: string): boolean {
  return ROUTES.some((route) => `${route.method} ${unversionedPath(route.path)}` === said)
}

export function programOf(version: Version): string {
  return join(folderOf(`cli-${version}`), 'vercel', 'dist', /^3/.test(version) ? 'index.js' : 'vc.js')
}

/** Quiet, alone with this machine, and with what it compiled last time. */
export function environmentOf(at: (...path: string[]) => string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: at('home'),
    VERCEL_TELEMETRY_DISABLED: '1',
    NO_UPDATE_NOTIFIER: '1',
    NO_COLOR: '1',
    NODE_COMPILE_CACHE: join(folderOf('compiled'), '..'),
    NODE_OPTIONS: `--import=${join(import.meta.dirname, 'loopback-only.ts')}`,
    BERTH_CLIENTS_OUTSIDE: at('outside'),
  }
}

async function run(words: string[], place: SpawnOptions, input: string, until: string | undefined) {
  const child = spawn(process.execPath, words, { ...place, stdio: 'pipe', timeout: MAX_MS })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  return finished(child, (printed) => {
    if (until !== undefined && printed.includes(until)) child.kill()
  })
}

/** `script` gives the child a terminal; what it prints and what is typed come out as one. */
async function type(words: string[], env: NodeJS.ProcessEnv, typed: [string, string][]) {
  const line = [process.execPath, ...words].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
  const child = spawn('script', ['-qec', line, '/dev/null'], { env, timeout: MAX_MS })
  const left = [...typed]
  let from = 0
  return finished(child, (printed) => {
    const [next] = left
    const found = next === undefined ? -1 : printed.indexOf(next[0], from)
    if (found === -1) return
    from = found + next![0].length
    left.shift()
    // A prompt that has just been drawn does not listen yet.
    setTimeout(() => child.stdin.write(next![1]), 100)
  })
}

function finished(child: ReturnType<typeof spawn>, onPrinted: (printed: string) => void) {
  let out = ''
  let err = ''
  child.stdout!.on('data', (data) => {
    out += data
    onPrinted(out)
  })
  child.stderr!.on('data', (data) => {
    err += data
    onPrinted(err)
  })
  return new Promise<{ code: number; out: string; err: string }>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === null) reject(new Error(`ended by ${signal} after:\n${out}\n${err}`))
      else resolve({ code, out, err })
    })
  })
}

export const hasTerminals = spawnSync('script', ['--version']).status === 0

const helps = new Map<string, string>()

function assertAbsent(version: Version, absent: string[], operation: string): void {
  const [command, sub] = operation.split(' ') as [string, string | undefined]
  const whole = absent.includes(command)
  const asked = whole ? ['--help'] : [command, '--help']
  const key = [version, ...asked].join(' ')
  if (!helps.has(key)) {
    const env = { PATH: process.env.PATH, NO_COLOR: '1', VERCEL_TELEMETRY_DISABLED: '1', HOME: folderOf('compiled') }
    helps.set(key, spawnSync(process.execPath, [programOf(version), ...asked], { env, encoding: 'utf8' }).stderr)
  }
  const words = helps.get(key)!.split(/[^a-z]+/)
  assert.ok(words.includes(whole ? 'link' : 'add'), `its help was read: ${helps.get(key)}`)
  assert.ok(!words.includes(whole ? command : sub!), `${operation} is in its help: ${helps.get(key)}`)
}

/** That a command ended with `code` and printed each of these, in any stream. */
export function assertSaid(said: Said, code: number, ...printed: (string | RegExp)[]): void {
  const text = `${said.out}\n${said.err}`
  const shown = `exit code ${said.code}\n${text}\n${said.asked.join('\n')}`
  assert.equal(said.code, code, shown)
  for (const one of printed) {
    const found = typeof one === 'string' ? text.includes(one) : one.test(text)
    assert.ok(found, `${one} was not printed: ${shown}`)
  }
}
