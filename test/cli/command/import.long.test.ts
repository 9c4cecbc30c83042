/** An import of many projects that is killed three times, and run again. docs/moving-in.md: Interrupted imports. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { berthProcess } from '../../support/clients/command.ts'
import {
  callerAt,
  credentialsOf,
  type HttpCaller,
  launch,
  newHome,
  processOnBothEngines,
  type RunningService,
  startService,
} from '../../support/process.ts'
import { root } from '../../support/root.ts'

const PROJECTS = 200
const VARIABLES = 20
const DOMAINS = 300
/** It is killed once this many projects are here. */
const KILLS = [20, 90, 160]
/** How many requests fill a service at once. */
const AT_ONCE = 8

type Side = { running: RunningService; call: HttpCaller; teamId: string; token: string }

processOnBothEngines(
  'an import that is killed three times ends with the same projects, variables and domains',
  async (t, engine) => {
    const [there, here] = [await openSide(t, engine), await openSide(t, engine)]
    await fill(there)
    const { home, ...side } = here
    const words = [
      'import',
      ...['--from', there.running.address, '--token', there.token],
      ...['--team', 'team', '--yes', '--json'],
    ]
    const env = { ...home.env, PORT: new URL(here.running.address).port }
    for (const many of KILLS) {
      const importing = launch(t, { ...home, env }, {}, [process.execPath, join(root, 'bin', 'berth.mjs'), ...words])
      while ((await namesOf(side)).length < many) {
        assert.equal(importing.child.exitCode, null, importing.err())
        // Each look asks the service that is filled.
        await sleep(25)
      }
      await importing.kill('SIGKILL')
      assert.ok((await namesOf(side)).length < PROJECTS)
    }
    const { code, out, err } = await berthProcess(words, env)
    assert.equal(code, 0, err)
    const { counts, failed, todo } = JSON.parse(out)
    assert.deepEqual(failed, [])
    assert.ok(
      counts.project.unchanged >= KILLS.at(-1)! - 1 && counts.project.created > 0,
      JSON.stringify(counts.project),
    )
    // Each project has a variable that cannot be read.
    assert.equal(todo.filter((line: string) => /HIDDEN .* cannot be read there$/.test(line)).length, PROJECTS)
    assert.equal(todo.filter((line: string) => line.startsWith('set the TXT record')).length, DOMAINS)
    await mustBeTheSame(there, side)
    const again = JSON.parse((await berthProcess(words, env)).out).counts
    for (const kind of ['project', 'variable', 'domain'])
      assert.deepEqual([again[kind].created, again[kind].changed, again[kind].failed], [0, 0, 0])
  },
  600_000,
)

async function openSide(t: TestContext, engine: 'sqlite' | 'postgres') {
  const home = await newHome(t, engine)
  const running = await startService(t, home, {
    BERTH_TIMERS: 'off',
    BERTH_DNS_SERVERS: '127.0.0.1:1',
    BERTH_LOG_LEVEL: 'error',
  })
  const { token, teamId } = credentialsOf(home)
  return { home, running, token, teamId, call: callerAt(running, token) }
}

/** 200 projects with 20 variables each, one of them unreadable, and 300 domains. */
async function fill({ call, teamId }: Side): Promise<void> {
  const make = async (path: string, body: object) => {
    const { status, body: answer } = await call('POST', `${path}?teamId=${teamId}` as '/v10/projects', body)
    assert.ok(status < 300, JSON.stringify(answer))
  }
  await inTurns(PROJECTS, async (at) => {
    const name = `p-${at}`
    await make('/v10/projects', { name, framework: at % 2 ? 'nextjs' : 'astro', buildCommand: `make ${at}` })
    const variables = Array.from({ length: VARIABLES - 1 }, (_, of) => ({
      key: `KEY_${of}`,
      value: `value ${at} ${of} \n "quoted" ü`,
      type: of % 2 ? 'encrypted' : 'plain',
      target: of % 3 ? ['production', 'preview'] : ['development'],
      comment: `comment ${of}`,
    }))
    const hidden = { key: 'HIDDEN', value: 'x', type: 'sensitive', target: ['production'] }
    await make(`/v10/projects/${name}/env`, [...variables, hidden])
  })
  await inTurns(DOMAINS, async (at) => {
    const routing = at >= PROJECTS ? { redirect: `d-${at - PROJECTS}.example.com`, redirectStatusCode: 307 } : {}
    // A domain that redirects waits for its target.
    if (at < PROJECTS) await make(`/v10/projects/p-${at}/domains`, { name: `d-${at}.example.com`, ...routing })
  })
  await inTurns(DOMAINS - PROJECTS, async (at) => {
    const routing = { redirect: `d-${at}.example.com`, redirectStatusCode: 307 }
    await make(`/v10/projects/p-${at}/domains`, { name: `r-${at}.example.com`, ...routing })
  })
}

async function inTurns(count: number, work: (at: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

async function namesOf({ call, teamId }: Side): Promise<string[]> {
  const names: string[] = []
  for (let until = ''; ; ) {
    const { body } = await call('GET', `/v9/projects?limit=100&teamId=${teamId}${until}` as '/v9/projects')
    names.push(...body.projects.map(({ name }) => name))
    if (body.pagination.next === null) return names.sort()
    until = `&until=${body.pagination.next}`
  }
}

/** Compares field by field, through both APIs, without what each server generates and without the values that cannot be read. */
async function mustBeTheSame(there: Side, here: Side): Promise<void> {
  const names = await namesOf(there)
  assert.deepEqual(await namesOf(here), names)
  assert.equal(names.length, PROJECTS)
  const seen = { variables: 0, domains: 0 }
  await inTurns(names.length, async (at) => {
    const [wanted, made] = await Promise.all([there, here].map((side) => contentOf(side, names[at]!)))
    assert.deepEqual(made, wanted)
    seen.variables += wanted!.variables.length
    seen.domains += wanted!.domains.length
  })
  assert.deepEqual(seen, { variables: PROJECTS * (VARIABLES - 1), domains: DOMAINS })
}

async function contentOf({ call, teamId }: Side, name: string) {
  const read = async (path: string) =>
    (await call('GET', `${path}${path.includes('?') ? '&' : '?'}teamId=${teamId}` as '/v9/projects')).body
  const [project, { envs }, { domains }] = (await Promise.all([
    read(`/v9/projects/${name}`),
    read(`/v9/projects/${name}/env?decrypt=true`),
    read(`/v9/projects/${name}/domains?limit=100`),
  ])) as unknown as [object, { envs: Row[] }, { domains: Row[] }]
  const variables = envs.filter(({ key }) => key !== 'HIDDEN')
  const place = (row: Row) => JSON.stringify([row.key, row.target, row.name])
  const sorted = (rows: Row[]) => rows.map(withoutOwn).sort((one, other) => (place(one) < place(other) ? -1 : 1))
  return { project: withoutOwn(project as Row), variables: sorted(variables), domains: sorted(domains) }
}
type Row = Record<string, unknown>

const OWN = /^(id|accountId|projectId|createdAt|updatedAt|checkedUntil|createdBy|updatedBy|verification|version|env)$/

function withoutOwn(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !OWN.test(name)))
}
