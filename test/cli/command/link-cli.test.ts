/** `berth link-cli`. docs/clients.md: Link the command line. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { aliasLine } from '../../../src/cli/command/link/alias-line.ts'
import { berth, berthProcess } from '../../support/clients/command.ts'
import { credentialsOf, newHome, startService } from '../../support/process.ts'

/** Each shell, with a script that runs an alias of the line before. */
const SHELLS: [program: string, script: (line: string) => string][] = [
  ['bash', (line) => `shopt -s expand_aliases\n${line}\nvercel deploy --yes\n`],
  ['zsh', (line) => `setopt aliases\n${line}\neval 'vercel deploy --yes'\n`],
  ['fish', (line) => `${line}\nvercel deploy --yes\n`],
]
const HERE = SHELLS.filter(([program]) => spawnSync(program, ['--version']).status === 0)

async function openHome(t: TestContext) {
  const home = await newHome(t, 'sqlite', 'da ta')
  const service = await startService(t, home)
  const env = { ...home.env, PORT: new URL(service.address).port }
  return { home, env, token: credentialsOf(home).token, teamId: credentialsOf(home).teamId }
}

const jsonIn = (...path: string[]) => JSON.parse(readFileSync(join(...path), 'utf8'))

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-shells-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

/** What each shell hands to a program called `vercel`. */
function typed(t: TestContext, folder: string, line: string): string[] {
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'vercel'), '#!/bin/sh\nprintf "%s|" "$NODE_EXTRA_CA_CERTS" "$@"\n', { mode: 0o755 })
  return HERE.map(([program, script]) => {
    const env = { PATH: `${bin}:${process.env.PATH}`, HOME: folder }
    writeFileSync(join(bin, 'script'), script(line))
    const { stdout, stderr } = spawnSync(program, [join(bin, 'script')], { env, encoding: 'utf8' })
    t.diagnostic(`${program}: ${stdout}${stderr}`)
    return stdout
  })
}

test('it writes a directory for its owner alone, and a line with which every shell calls this Berth over https', async (t) => {
  const { home, env, token } = await openHome(t)
  // The program itself: the token is in nothing that it prints.
  const { code, out, err } = await berthProcess(['link-cli'], env)
  assert.equal(code, 0, err)
  assert.ok(!`${out}${err}`.includes(token))
  assert.match(err, /a plain "vercel deploy" uploads your source there/)
  const folder = join(home.folder, 'cli')
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  for (const name of ['auth.json', 'config.json']) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600)
  assert.deepEqual(jsonIn(folder, 'auth.json'), { token })
  const { api } = jsonIn(folder, 'config.json')
  assert.deepEqual(jsonIn(folder, 'config.json'), { api: `https://127.0.0.1:${env.PORT}` })

  const line = /^ {2}(alias vercel=.*)$/m.exec(out)![1]!
  const authority = join(home.folder, 'tls', 'authority.pem')
  assert.ok(HERE.length > 0, 'no shell is here')
  for (const heard of typed(t, home.folder, line)) assert.equal(heard, `${authority}|-Q|${folder}|deploy|--yes|`)

  const headers = { authorization: `Bearer ${token}` }
  const asked = request(`${api}/v2/user`, { ca: readFileSync(authority), headers }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  assert.equal(JSON.parse((await answer.toArray()).join('')).user.username, 'admin')
})

test('the team is written, and taken out by a run without one; other settings of the folder stay', async (t) => {
  const { home, env, teamId } = await openHome(t)
  const folder = join(home.folder, 'own')
  const link = (...words: string[]) => berth(['link-cli', '--global-config', folder, '--json', ...words], env)
  const linked = await link('--team', 'team')
  assert.equal(linked.code, 0, linked.err)
  const { alias, team, user } = JSON.parse(linked.out)
  assert.deepEqual([team, user], ['team', 'admin'])
  assert.ok(alias.includes(folder))
  const settings = jsonIn(folder, 'config.json')
  assert.equal(settings.currentTeam, teamId)
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({ ...settings, api: 'https://localhost:1', telemetry: { enabled: false } }),
  )
  assert.equal((await link()).code, 0)
  assert.deepEqual(jsonIn(folder, 'config.json'), { api: settings.api, telemetry: { enabled: false } })
})

test('what cannot be linked is reported in a sentence, and nothing is written', async (t) => {
  const { home, env } = await openHome(t)
  const folder = join(home.folder, 'cli')
  const refused = async (words: string[], more: Record<string, string>, code: number, sentence: RegExp) => {
    const said = await berth(['link-cli', ...words], { ...env, ...more })
    assert.equal(said.code, code, said.err)
    assert.match(said.err, sentence)
  }
  await refused(['--team', 'nobody'], {}, 1, /^berth: the user of the token is in no team "nobody": /)
  await refused(['--token', 'unknown'], {}, 1, /^berth: The token is unknown, expired or revoked/)
  await refused([], { PORT: '1' }, 1, /^berth: no service responds at http:\/\/127\.0\.0\.1:1; start it/)
  await refused([], { BERTH_DATA: join(home.folder, 'none') }, 1, /credentials\.json is not there: start Berth once/)
  await refused([], { HOST: '0.0.0.0' }, 1, /^berth: the service has no https address, .* set BERTH_PUBLIC_URL/)
  await refused(['--global-config', ''], {}, 64, /--global-config names no folder/)
  await refused(['--global-config', "it's"], {}, 64, /^berth: "\S+it's" has a quote, /)
  assert.equal(existsSync(folder), false)

  const other = join(home.folder, 'other')
  mkdirSync(other)
  cpSync(join(home.folder, 'credentials.json'), join(other, 'credentials.json'))
  await refused(
    [],
    { BERTH_DATA: other },
    1,
    /has another data folder than BERTH_DATA says: \S.*authority\.pem is not there/,
  )
  mkdirSync(join(other, 'tls'))
  writeFileSync(join(other, 'tls', 'authority.pem'), '')
  await refused([], { BERTH_DATA: other }, 1, /has another data folder than BERTH_DATA says: its certificate is not of/)
  assert.deepEqual(readdirSync(other).sort(), ['credentials.json', 'tls'])

  const hosted = join(home.folder, 'hosted')
  mkdirSync(hosted)
  for (const settings of ['{}', '{"api":"https://api.example.com"}']) {
    writeFileSync(join(hosted, 'config.json'), settings)
    writeFileSync(join(hosted, 'auth.json'), '{"token":"theirs"}')
    await refused(['--global-config', hosted], {}, 1, /hosted holds a login of another service: name an empty folder/)
    assert.deepEqual(
      [readFileSync(join(hosted, 'config.json'), 'utf8'), jsonIn(hosted, 'auth.json')],
      [settings, { token: 'theirs' }],
    )
  }
  writeFileSync(join(hosted, 'config.json'), '{')
  await refused(['--global-config', hosted], {}, 1, /config\.json is not JSON: remove it/)
})

test('a line holds any path that all shells read alike, and no other', (t) => {
  const plain = aliasLine('/home/me/berth', undefined)
  assert.equal(plain, "alias vercel='command vercel -Q /home/me/berth'")
  const path = '/tmp/a $HOME `id` "b" *?[c] ~ ;&|# é (d) !e'
  for (const heard of typed(t, newFolder(t), aliasLine(path, path)))
    assert.equal(heard, `${path}|-Q|${path}|deploy|--yes|`)
  for (const bad of ["it's", 'back\\slash', 'line\nend', 'tab\t', 'turned\u202e', 'line\u2028'])
    assert.throws(() => aliasLine(bad, undefined), /name another folder/)
})
