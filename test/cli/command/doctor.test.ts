/** `berth doctor`: each problem is caused once, and is reported with what to do. */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../../../src/config.ts'
import { checkDatabase } from '../../../src/operations/doctor/store.ts'
import { migrate } from '../../../src/platform/db/db.ts'
import { openPostgresConnection } from '../../../src/platform/db/postgres/open.ts'
import { openSqliteFile } from '../../../src/platform/db/sqlite/open.ts'
import { berth } from '../../support/clients/command.ts'
import { credentialsOf, newHome, processOnBothEngines, type ServiceHome, startService } from '../../support/process.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { openSmtp } from '../../support/servers/smtp.ts'

type Finding = { about: string; is: 'well' | 'worry' | 'wrong'; found: string; advice?: string }

async function doctor(env: Record<string, string>) {
  const { code, out, err } = await berth(['doctor', '--json'], env)
  assert.equal(err, '')
  const { well, findings } = JSON.parse(out) as { well: boolean; findings: Finding[] }
  assert.equal(code, well ? 0 : 1)
  for (const finding of findings) assert.ok(finding.is === 'well' || finding.advice || finding.found, finding.about)
  return { well, of: (about: string) => findings.find((finding) => finding.about === about), findings }
}

/** A resolver that answers, so that no test depends on the world outside. */
async function withDns(
  home: ServiceHome,
  t: { after(run: () => Promise<void>): void },
): Promise<Record<string, string>> {
  const dns = await startDnsServer()
  t.after(() => dns.close())
  return { ...home.env, BERTH_DNS_SERVERS: dns.address }
}

processOnBothEngines(
  'before the first start and next to a running service every check passes, and nothing is created',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const env = await withDns(home, t)
    const fresh = await doctor(env)
    assert.ok(fresh.well, JSON.stringify(fresh.findings))
    assert.equal(existsSync(home.folder), false)
    const running = await startService(t, home)
    const beside = await doctor({ ...env, PORT: new URL(running.address).port })
    assert.ok(beside.well, JSON.stringify(beside.findings))
    assert.match(beside.of('port')!.found, /a Berth responds at/)
    assert.match(beside.of('database')!.found, /has the schema of this version/)
    assert.match(beside.of('keyring')!.found, /they fit the database/)
    const { token, operatorToken } = credentialsOf(home)
    const { out } = await berth(['doctor'], env)
    assert.match(out, /^ok {5}settings: can be read$/m)
    assert.equal(out.includes(token) || out.includes(operatorToken), false)
  },
)

processOnBothEngines('a project that has a name of Berth is reported, with its owner', async (t, engine) => {
  const home = await newHome(t, engine)
  const env = { ...(await withDns(home, t)), BERTH_DOMAIN_PROOF: 'contested' }
  const running = await startService(t, { ...home, env })
  const { token, teamId } = credentialsOf(home)
  const post = async (path: string, body: object) => {
    const answer = await fetch(`${running.address}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert.equal(answer.status, 200)
  }
  await post('/v10/projects', { name: 'web' })
  for (const name of ['berth.acme.org', 'other.acme.org', '*.wild.acme.org'])
    await post('/v10/projects/web/domains', { name })
  // Contested, so it is not verified and leads nowhere.
  await post(`/v10/projects?teamId=${teamId}`, { name: 'claim' })
  await post(`/v10/projects/claim/domains?teamId=${teamId}`, { name: 'claim.acme.org' })
  assert.equal((await doctor(env)).of('own names'), undefined)
  for (const host of ['claim.acme.org', 'wild.acme.org', 'acme.org']) {
    const well = (await doctor({ ...env, BERTH_EDGE_CNAME: host })).of('own names')!
    assert.deepEqual([well.is, well.found], ['well', `no project has ${host} as its domain`])
  }
  // A setting, or a new version, makes the name Berth's own.
  for (const [changed, name] of [
    [{ BERTH_PUBLIC_URL: 'https://berth.acme.org' }, 'berth.acme.org'],
    [{ BERTH_EDGE_CNAME: 'berth.acme.org' }, 'berth.acme.org'],
    [{ BERTH_PUBLIC_URL: 'https://a.wild.acme.org' }, '*.wild.acme.org'],
  ] as const) {
    const { findings } = await doctor({ ...env, ...changed })
    const told = findings.filter(({ about }) => about === 'own names')
    assert.equal(told.length, 1)
    assert.equal(told[0]!.is, 'wrong')
    assert.ok(told[0]!.found.startsWith(`${name} is a verified domain of the project web of `), told[0]!.found)
    assert.ok(told[0]!.advice!.includes(`DELETE /v9/projects/web/domains/${name}`), told[0]!.advice ?? '')
  }
})

test('a bad setting is reported, and nothing else is checked', async (t) => {
  const home = await newHome(t, 'sqlite')
  const { well, findings } = await doctor({ ...home.env, PORT: 'many' })
  assert.deepEqual([well, findings.length, findings[0]!.about], [false, 1, 'settings'])
  assert.match(findings[0]!.found, /^PORT must be/)
})

test('a drill is reported, so that production does not stay in one', async (t) => {
  const home = await newHome(t, 'sqlite')
  const { well, of } = await doctor({ ...(await withDns(home, t)), BERTH_DRILL: 'on' })
  assert.deepEqual([well, of('settings')!.is], [true, 'worry'])
  assert.match(of('settings')!.found, /^BERTH_DRILL is on: nothing is delivered/)
})

test('folder, files, keyring', async (t) => {
  const home = await newHome(t, 'sqlite')
  const running = await startService(t, home)
  assert.equal(await running.kill('SIGTERM'), 0)
  const env = await withDns(home, t)
  chmodSync(join(home.folder, 'credentials.json'), 0o644)
  chmodSync(join(home.folder, 'keys.json'), 0o640)
  const open = await doctor(env)
  assert.match(open.of('folder')!.advice!, /^chmod go= .*credentials\.json$/)
  assert.match(open.of('keyring')!.found, /can be read by others/)
  assert.equal(open.well, false)
  chmodSync(join(home.folder, 'credentials.json'), 0o600)
  chmodSync(join(home.folder, 'keys.json'), 0o600)
  const other = await newHome(t, 'sqlite')
  assert.equal(await (await startService(t, other)).kill('SIGTERM'), 0)
  const strange = await doctor({ ...env, BERTH_KEYS: join(other.folder, 'keys.json') })
  assert.match(strange.of('keyring')!.found, /does not have the key rk_/)
  assert.match(strange.of('folder')!.found, /, for this user only$/)
  const gone = await doctor({ ...env, BERTH_KEYS: join(home.folder, 'gone.json') })
  assert.deepEqual([gone.of('keyring')!.is, /restore it/.test(gone.of('keyring')!.advice!)], ['wrong', true])
  const nowhere = await doctor({ ...env, BERTH_DATA: '/dev/null/berth', DATABASE_URL: env.DATABASE_URL! })
  assert.equal(nowhere.of('folder')!.is, 'wrong')
})

processOnBothEngines('a store of another schema, or none that answers', async (t, engine) => {
  const home = await newHome(t, engine)
  const env = await withDns(home, t)
  mkdirSync(home.folder, { mode: 0o700 })
  const file = join(home.folder, 'berth.db')
  const open = () => (engine === 'sqlite' ? openSqliteFile(file, false) : openPostgresConnection(env.DATABASE_URL!))
  const older = open()
  await migrate(older, '0003-env')
  await older.destroy()
  if (engine === 'sqlite') chmodSync(file, 0o600)
  const behind = await doctor(env)
  assert.deepEqual([behind.well, behind.of('database')!.is], [true, 'worry'])
  assert.match(behind.of('database')!.advice!, /berth migrate/)
  assert.equal((await berth(['migrate'], env)).code, 0)
  const newer = open()
  // The clock of the instance that wrote this was a day ahead.
  const event = { stamp: (Date.now() + 86_400_000) * 1024, id: 'e', account_id: 'a', type: 't', payload_json: '{}' }
  await newer.insertInto('event').values(event).execute()
  // biome-ignore lint/suspicious/noExplicitAny: the table is Kysely's own
  await (newer as any).insertInto('kysely_migration').values({ name: '9999-later', timestamp: '2099-01-01' }).execute()
  await newer.destroy()
  const ahead = await doctor(env)
  const name = engine === 'sqlite' ? 'berth.db' : 'PostgreSQL'
  assert.ok(ahead.of('database')!.found.endsWith(`${name} was written by a newer version of Berth (9999-later)`))
  assert.match(ahead.of('clock')!.found, /and the database was last written at/)
  assert.deepEqual([ahead.of('database')!.is, ahead.of('clock')!.is], ['wrong', 'wrong'])
  writeFileSync(join(home.folder, 'text.db'), 'this is not a database, whatever its name says'.repeat(50), {
    mode: 0o600,
  })
  const broken =
    engine === 'sqlite' ? `sqlite:${join(home.folder, 'text.db')}` : 'postgres://berth:hunter2@127.0.0.1:1/none'
  const away = await doctor({ ...env, DATABASE_URL: broken })
  assert.equal(away.of('database')!.is, 'wrong')
  assert.equal(JSON.stringify(away.findings).includes('hunter2'), false)
})

test('a disk that is too slow to read every page in time is not an error', async (t) => {
  const home = await newHome(t, 'sqlite')
  assert.equal((await berth(['migrate'], home.env)).code, 0)
  const [slow] = await checkDatabase(readConfig(home.env), AbortSignal.abort())
  assert.deepEqual([slow!.is, /or the machine too slow\. berth backup verify/.test(slow!.found)], ['well', true])
  const [read] = await checkDatabase(readConfig(home.env))
  assert.match(read!.found, /has the schema of this version$/)
})

test('ports, resolvers and the mail server', async (t) => {
  const home = await newHome(t, 'sqlite')
  const env = await withDns(home, t)
  const stranger = createServer((_, answer) => answer.end('not Berth')).listen(0, '127.0.0.1')
  t.after(() => void stranger.close())
  await new Promise((resolve) => stranger.once('listening', resolve))
  const { port } = stranger.address() as AddressInfo
  const taken = await doctor({ ...env, PORT: `${port}`, BERTH_EDGE_PORT: `${port}` })
  for (const [about, setting] of [
    ['port', 'PORT'],
    ['port for proxies', 'BERTH_EDGE_PORT'],
  ] as const) {
    assert.equal(taken.of(about)!.is, 'wrong')
    assert.match(taken.of(about)!.advice!, new RegExp(`set ${setting} to another`))
  }
  assert.match((await doctor({ ...env, HOST: '203.0.113.9' })).of('port')!.advice!, /HOST/)
  for (const HOST of ['10.127.0.1', '192.0.127.1'])
    assert.match((await doctor({ ...env, HOST })).of('address')!.found, /open to other machines/, HOST)

  const two = await doctor({ ...env, BERTH_DNS_SERVERS: `${env.BERTH_DNS_SERVERS},127.0.0.1:1` })
  assert.deepEqual(
    two.findings.filter(({ about }) => about === 'DNS').map(({ is }) => is),
    ['well', 'wrong'],
  )

  assert.equal((await doctor(env)).of('mail')!.is, 'worry')
  const smtp = await openSmtp({ login: 'berth:hunter2' })
  t.after(() => smtp.close())
  const mail = (user: string) =>
    doctor({ ...env, BERTH_MAIL_FROM: 'berth@example.com', BERTH_SMTP_URL: `smtp://${user}@127.0.0.1:${smtp.port}` })
  assert.equal((await mail('berth:hunter2')).of('mail')!.is, 'well')
  const wrong = await mail('berth:letmein')
  assert.equal(wrong.of('mail')!.is, 'wrong')
  assert.equal(JSON.stringify(wrong.findings).includes('letmein'), false)
  assert.deepEqual(smtp.received, [], 'no letter was sent')
})
