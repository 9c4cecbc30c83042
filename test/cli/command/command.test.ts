/** The operator's commands against a running service, and the commands for all users: help, mistakes, completion, migrate. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { COMMANDS } from '../../../src/cli/command/commands.ts'
import { servicePath } from '../../../src/cli/command/service-client.ts'
import { BadUsage } from '../../../src/cli/command-line/command.ts'
import { commandLineText } from '../../../src/cli/command-line/document.ts'
import { parseArguments } from '../../../src/cli/command-line/parse.ts'
import { berth, berthProcess } from '../../support/clients/command.ts'
import { credentialsOf, newHome, processOnBothEngines, startService } from '../../support/process.ts'
import { canRun, skipReason } from '../../support/programs.ts'
import { root } from '../../support/root.ts'

processOnBothEngines(
  'the audit log is verified from the command line, which ends with 1 when it does not hold',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const running = await startService(t, home)
    const env = { ...home.env, PORT: new URL(running.address).port }
    assert.equal((await berthProcess(['keys', 'rotate'], env)).code, 0)
    let seen = { out: '', code: 0 }
    for (let entries = 0; entries === 0; entries = JSON.parse(seen.out).entries)
      seen = await berth(['audit', 'verify', '--json'], env)
    const { verified, head } = JSON.parse(seen.out)
    assert.deepEqual([seen.code, verified], [0, true])
    assert.equal((await berth(['audit', 'verify', head], env)).code, 0)
    const absent = head.replace(/^\d+/, (at: string) => String(Number(at) + 7))
    const other = await berthProcess(['audit', 'verify', absent, '--json'], env)
    assert.equal(other.code, 1)
    assert.match(other.out, /"verified":\s*false/)
    for (const words of [['audit'], ['audit', 'verify', 'a', 'b'], ['audit', 'look']])
      assert.equal((await berth(words, env)).code, 64)
  },
)

processOnBothEngines('keys are rotated, shown and retired from the command line', async (t, engine) => {
  const home = await newHome(t, engine)
  const running = await startService(t, home)
  const env = { ...home.env, PORT: new URL(running.address).port }
  const before = JSON.parse((await berth(['keys', 'status', '--json'], env)).out)
  const rotated = await berth(['keys', 'rotate', '--json'], env)
  assert.equal(rotated.code, 0, rotated.err)
  const { activeKeyId } = JSON.parse(rotated.out)
  const after = (await berth(['keys', 'status'], env)).out
  assert.equal(JSON.stringify(before).includes(activeKeyId), false)
  assert.match(after, new RegExp(`^${activeKeyId} +yes +0$`, 'm'))
  const refused = await berth(['keys', 'retire', activeKeyId], env)
  assert.deepEqual([refused.code, refused.out], [1, ''])
  assert.match(refused.err, /^berth: The key \S+ is the active one/)

  const { operatorToken } = credentialsOf(home)
  const elsewhere = { ...env, BERTH_DATA: join(home.folder, 'elsewhere') }
  assert.match((await berth(['keys', 'status'], elsewhere)).err, /BERTH_OPERATOR_TOKEN/)
  assert.equal((await berth(['keys', 'status'], { ...elsewhere, BERTH_OPERATOR_TOKEN: operatorToken })).code, 0)
  assert.equal(await running.kill('SIGTERM'), 0)
  assert.match((await berth(['keys', 'status'], env)).err, /no service responds/)
})

processOnBothEngines('users, teams, members, tokens and integrations are made and ended', async (t, engine) => {
  const home = await newHome(t, engine)
  const running = await startService(t, home)
  const env = { ...home.env, PORT: new URL(running.address).port }
  const json = async (...words: string[]) => {
    const { code, out, err } = await berth([...words, '--json'], env)
    assert.equal(code, 0, `${words}: ${err}`)
    return JSON.parse(out)
  }
  const user = await json('user', 'add', 'ada@example.com', 'ada', '--name', 'Ada Lovelace')
  assert.equal(user.name, 'Ada Lovelace')
  assert.match((await json('user', 'password-link', user.id)).url, /^http/)
  const { userId } = credentialsOf(home)
  const team = await json('team', 'add', 'acme', '--owner', userId, '--plan', 'enterprise')
  assert.deepEqual([team.slug, team.plan], ['acme', 'enterprise'])
  assert.equal((await json('team', 'member', 'add', team.id, user.id, '--role', 'VIEWER')).role, 'VIEWER')
  const made = await json('token', 'add', user.id, '--team', team.id, '--expires', '30', '--scope', 'read:project')
  const asks = async () =>
    (await fetch(`${running.address}/v9/projects`, { headers: { authorization: `Bearer ${made.token}` } })).status
  assert.equal(await asks(), 200)
  assert.deepEqual(await json('token', 'rm', made.id), { done: true })
  assert.equal(await asks(), 401)
  assert.deepEqual(await json('team', 'member', 'rm', team.id, user.id), { done: true })

  const redirect = [
    '--redirect-url',
    'https://mailer.example/back',
    '--scope',
    'read:project',
    '--scope',
    'read:domain',
  ]
  const app = await json('integration', 'add', 'mailer', '--team', team.id, ...redirect)
  const secret = await json('integration', 'secret', 'add', app.id)
  const listed = (await json('integration', 'list', '--team', team.id)).integrations
  assert.deepEqual(listed[0].scopes.toSorted(), ['read:domain', 'read:project'])
  assert.equal(listed[0].secrets.length, 2)
  assert.match((await berth(['integration', 'list'], env)).out, /^id .*\n.*mailer/)
  await json('integration', 'secret', 'rm', app.id, secret.id)
  await json('integration', 'rm', app.id)
  assert.deepEqual((await json('integration', 'list')).integrations, [])

  await json('user', 'set', 'ada', '--email', 'ada@acme.example')
  const [found] = (await json('user', 'list', '--search', 'acme.example')).users
  assert.deepEqual([found.id, found.username, found.suspended], [user.id, 'ada', false])
  const personal = (await json('token', 'add', 'ada@acme.example')).token
  const comes = async () =>
    (await fetch(`${running.address}/v2/user`, { headers: { authorization: `Bearer ${personal}` } })).status
  assert.equal((await json('user', 'suspend', 'ada')).suspended, true)
  assert.equal(await comes(), 401)
  assert.equal((await json('user', 'resume', 'ada')).suspended, false)
  assert.equal(await comes(), 200)
  assert.equal((await json('user', 'show', 'ada')).tokens.length, 1)
  assert.equal((await json('token', 'list', '--user', 'ada', '--unused-days', '30')).tokens.length, 0)
  assert.equal((await berth(['token', 'revoke'], env, `${personal}\n`)).code, 0)
  assert.equal(await comes(), 401)
  assert.equal((await json('account', 'plan', 'acme', 'pro')).plan, 'pro')
  assert.deepEqual((await json('team', 'list', '--search', 'acm')).teams[0].plan, 'pro')
  assert.equal((await json('team', 'show', 'acme')).members[0].username, 'admin')
  assert.deepEqual(await json('team', 'delete', 'acme'), { done: true })
  assert.deepEqual(await json('user', 'delete', 'ada', '--force'), { done: true })
  assert.equal(await comes(), 401)
  assert.equal((await berth(['user', 'show', 'ada'], env)).code, 1)
  await json('user', 'add', 'ada@example.com', 'ada-2')

  const taken = await berth(['user', 'add', 'ada@example.com', 'ada', '--json'], env)
  assert.equal(taken.code, 1)
  assert.match(JSON.parse(taken.out).error.message, /ada/)
  const late = await berth(['token', 'add', 'ada-2', '--expires', 'soon'], env)
  assert.deepEqual([late.code, /days or a time/.test(late.err)], [64, true])
})

test('a command that gets 429 waits ten times, and then prints the answer', {
  timeout: 300_000,
}, async (t) => {
  let asked = 0
  const server = createServer((_, response) => {
    asked++
    response.writeHead(429, { 'retry-after': '0', 'content-type': 'application/json' })
    response.end('{"error":{"code":"rate_limited","message":"Too many requests - try again later"}}')
  })
  t.after(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const env = { BERTH_PUBLIC_URL: `http://127.0.0.1:${port}`, BERTH_OPERATOR_TOKEN: 'x'.repeat(40) }
  const { code, err } = await berth(['integration', 'list'], env)
  assert.deepEqual([code, asked], [1, 11])
  assert.match(err, /Too many requests/)
})

test('a command line that cannot be read ends with 64, suggests a command, and does nothing', async () => {
  const cases: [string[], RegExp][] = [
    [['kyes'], /there is no "berth kyes"; did you mean "berth keys"\?/],
    [['bakcup', 'x'], /did you mean "berth backup"\?/],
    [['keys', 'rotaet'], /did you mean "berth keys rotate"\?/],
    [['team', 'member', 'ad'], /did you mean "berth team member add"\?/],
    [['xyzzyplugh'], /there is no "berth xyzzyplugh"; see berth --help/],
    [['keys'], /needs another word: status, rotate, retire/],
    [['keys', 'rotate', 'now'], /"now" is one word too many\nusage: berth keys rotate/],
    [['keys', 'retire'], /<key> is missing/],
    [['serve', 'here'], /"here" is one word too many/],
    [['backup', 'x', '--with-key'], /there is no option --with-key; did you mean --with-keys\?/],
    [['team', 'add', 'x'], /--owner is missing/],
    [['team', 'member', 'add', 't', 'u', '--role', 'KING'], /--role must be one of OWNER/],
    [['completion', 'tcsh'], /<shell> must be one of bash, zsh, fish/],
    [['completion', ''], /<shell> may not be ""/],
    [['--jsn'], /no such option: --jsn; see berth --help/],
    [['integration', 'secret', 'rm', 'oac_1', '..'], /<secret> may not be "\.\.": id of a secret\nusage: /],
    [['integration', 'rm', ''], /<integration> may not be ""/],
    [['token', 'rm', '..'], /<token> may not be/],
    [['team', 'member', 'rm', '..', '..'], /<team> may not be/],
    [['keys', 'retire', '.'], /<key> may not be "\."/],
    [['env', 'import', '.', '-', '--target', 'preview'], /<project> may not be/],
    [['env', 'export', '..', '--target', 'preview'], /<project> may not be/],
    [['env', 'export', 'web', '--target', '..'], /"\.\." is neither a name nor an id/],
    [['env', 'export', 'web', '--target', 'preview', '--git-branch', '..'], /"\.\." is neither a name nor an id/],
    [['token', 'add', 'usr_1', '--expires', '-5'], /--expires needs its <days or time>; one that begins with "-"/],
    [['token', 'add', 'usr_1', '--expires=-5'], /--expires must be days or a time such as .*, not "-5"/],
    [['token', 'add', 'usr_1', '--name'], /--name needs its <name>/],
    [['backup', 'x', '--with-keys=yes'], /--with-keys takes no value/],
  ]
  await Promise.all(
    cases.map(async ([words, wanted], at) => {
      // The first by the program itself: its exit code and its two outputs are what the command gives.
      const { code, out, err } = await (at === 0 ? berthProcess(words) : berth(words))
      assert.deepEqual([code, out], [64, ''], `${words}`)
      assert.match(err, wanted)
    }),
  )
  const wordless = await berth(['--json'])
  assert.equal(wordless.code, 64)
  assert.match(JSON.parse(wordless.out).error.message, /^no command was given; see berth --help$/)
  const { code, out } = await berth(['keys', 'rotaet', '--json'])
  assert.deepEqual([code, JSON.parse(out).error.exitCode], [64, 64])
  const bad = await berthProcess(['migrate'], { PORT: 'x' })
  assert.deepEqual([bad.code, /^berth: PORT must be/.test(bad.err)], [78, true])
  for (const name of ['BERTH_TOKEN', 'BERTH_OPERATOR_TOKEN']) {
    const broken = await berth(['keys', 'status'], { [name]: 'a-token-of-some-length\n' })
    assert.deepEqual(
      [broken.code, broken.err.startsWith(`berth: ${name} must not end with white space`)],
      [78, true],
      broken.err,
    )
  }
})

test('no word that was typed makes the path of another thing', () => {
  for (const part of ['', '.', '..', undefined])
    assert.throws(() => servicePath('/operator/v1', ['integrations', 'oac_1', 'secrets', part]), BadUsage)
  for (const part of ['a/../..', '%2e%2e', '..;', '?x', '#x', '\\..', 'a b'])
    assert.equal(
      new URL(`http://berth${servicePath('/v1', [part, 'env'])}`).pathname,
      `/v1/${encodeURIComponent(part)}/env`,
    )
})

test('a stdout that cannot be written gives one sentence, and one that was closed early gives none', async () => {
  const entry = join(root, 'bin', 'berth.mjs')
  const run = async (stdout: number | 'pipe', ...words: string[]) => {
    const child = spawn(process.execPath, [entry, ...words], { stdio: ['ignore', stdout, 'pipe'] })
    child.stdout?.destroy()
    let err = ''
    child.stderr!.on('data', (piece) => {
      err += piece
    })
    await once(child, 'close')
    return { code: child.exitCode, err }
  }
  const full = openSync('/dev/full', 'w')
  for (const words of [['--help'], ['completion', 'bash']]) {
    const { code, err } = await run(full, ...words)
    assert.equal(code, 1)
    assert.match(err, /^berth: the answer could not be written to stdout: ENOSPC[^\n]*\n$/)
    assert.deepEqual(await run('pipe', ...words), { code: 0, err: '' })
  }
  assert.equal((await run(full, 'keys', 'rotaet', '--json')).code, 64)
  closeSync(full)
})

test('a backup names the database that does not respond, and a restore the path that is a directory', async (t) => {
  const { folder } = await newHome(t, 'sqlite')
  mkdirSync(folder)
  const away = { BERTH_DATA: folder, DATABASE_URL: 'postgres://berth:pass-word@127.0.0.1:1/store' }
  const { code, err } = await berth(['backup', join(folder, 'copy.db')], away)
  assert.equal(code, 1)
  assert.match(err, /^berth: cannot connect to DATABASE_URL \(127\.0\.0\.1:1\/store\): connect ECONNREFUSED/)
  assert.equal(err.includes('pass-word'), false)
  assert.match((await berth(['restore', folder], away)).err, /is a directory: name the file in it/)
})

test('every command has help with an example that the command itself understands', async () => {
  const all = (await berth(['--help'])).out
  for (const { name: words } of COMMANDS) assert.ok(all.includes(`berth ${words}`), words)
  const { parseArguments, findCommand } = await import('../../../src/cli/command-line/parse.ts')
  for (const command of COMMANDS) {
    const typed = command.example.replace(/^(?:[A-Z_]+=\S+ )*berth /, '').replace(/ [<>] .*$/, '')
    const words = (typed.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''))
    const found = findCommand(COMMANDS, words)
    assert.equal(found.command.name, command.name)
    parseArguments(found.command, found.rest)
  }
  for (const words of [
    ['keys', 'retire', '--help'],
    ['help', 'keys', 'retire'],
    ['keys', 'retire', '-h'],
  ]) {
    const { code, out } = await berth(words)
    assert.equal(code, 0)
    assert.match(out, /^usage: berth keys retire <key>\n[\s\S]*example: berth keys retire/)
  }
  for (const { name } of COMMANDS) {
    const { code, out } = await berth([...name.split(' '), '-h'])
    assert.deepEqual([code, out.startsWith(`usage: berth ${name}`)], [0, true], `${name} -h`)
  }
  assert.match(all, /^Berth \d+\.\d+\.\d+: .*\n\nusage: berth <command>/)
  for (const group of ['service', 'keys', 'team', 'env']) assert.match(all, new RegExp(`^${group}:$`, 'm'))
  assert.match((await berth(['keys', '--help'])).out, /berth keys rotate[\s\S]*berth keys retire/)
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  assert.equal((await berthProcess(['--version'])).out, `${version}\n`)
})

test('docs/command-line.md says what the table says', () => {
  const file = join(root, 'docs', 'command-line.md')
  assert.equal(readFileSync(file, 'utf8'), commandLineText(COMMANDS), 'run "npm run commands" and commit it')
})

test('a start loads no command, and a command no server', async (t) => {
  const home = await newHome(t, 'sqlite')
  const loadedBy = (folder: string) =>
    readdirSync(folder).flatMap((name) => {
      const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { result: { url: string }[] }
      return result.map(({ url }) => url)
    })
  const [served, asked] = ['served', 'asked'].map((name) => join(home.folder, name)) as [string, string]
  mkdirSync(home.folder)
  const running = await startService(t, home, { NODE_V8_COVERAGE: served })
  assert.equal(await running.kill('SIGTERM'), 0)
  assert.ok(loadedBy(served).some((url) => url.endsWith('/src/processes/start.ts')))
  assert.deepEqual(
    loadedBy(served).filter((url) => url.includes('/src/cli/command/')),
    [],
  )
  await berthProcess(['keys', 'status'], { ...home.env, NODE_V8_COVERAGE: asked })
  assert.ok(loadedBy(asked).some((url) => url.endsWith('/src/cli/command/operator.ts')))
  assert.deepEqual(
    loadedBy(asked).filter((url) => /fastify|kysely|command\/(env|backup|doctor)\.ts/.test(url)),
    [],
  )
})

/** What a shell would offer for the last of these words. */
function offered(shell: 'bash' | 'zsh' | 'fish', script: string, words: string[]): string[] {
  const typed = words.map((word) => `'${word}'`).join(' ')
  const bash = `${script}\nCOMP_WORDS=(${typed}); COMP_CWORD=${words.length - 1}; _berth; printf '%s\\n' "\${COMPREPLY[@]}"`
  const zsh = `compdef() { : }; _describe() { print -l -- \${found%%:*} }; _files() { : }\n${script}\nwords=(${typed}); CURRENT=${words.length}; _berth`
  const fish = `${script}\ncomplete --do-complete '${words.join(' ')}' | string split -f1 \\t`
  const text = execFileSync(shell, ['-c', { bash, zsh, fish }[shell]], { encoding: 'utf8' })
  const last = words.at(-1)!
  return text.split('\n').filter((word) => word !== '' && word.startsWith(last))
}

for (const shell of ['bash', 'zsh', 'fish'] as const) {
  test(`completion in a real ${shell}`, async (t) => {
    if (!canRun(shell, '-c', 'true')) return t.skip(skipReason(shell, shell, 'its completion'))
    const { out } = await berth(['completion', shell])
    assert.deepEqual(offered(shell, out, ['berth', 'k']), ['keys'])
    assert.deepEqual(offered(shell, out, ['berth', 'keys', 'r']).sort(), ['retire', 'rotate'])
    assert.deepEqual(offered(shell, out, ['berth', 'team', 'member', '']).sort(), ['add', 'rm'])
    assert.deepEqual(offered(shell, out, ['berth', 'backup', 'x.db', '--w']), ['--with-keys'])
    assert.deepEqual(offered(shell, out, ['berth', 'completion', 'f']), ['fish'])
    assert.deepEqual(offered(shell, out, ['berth', 'serve', '--js']), ['--json'])
    assert.deepEqual(offered(shell, out, ['berth', 'env', 'export', 'web', '--target', 'prev']), ['preview'])
  })
}

processOnBothEngines(
  'migrate prints which migrations ran; concurrent runs are safe, also next to a service',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const runs = await Promise.all(Array.from({ length: 4 }, () => berthProcess(['migrate', '--json'], home.env)))
    for (const { code, err } of runs) assert.equal(code, 0, err)
    const applied = runs.map(({ out }) => JSON.parse(out).applied as string[])
    assert.equal(applied.filter((names) => names.length > 0).length, 1, 'one of them ran them, and all of them')
    assert.ok(applied.flat().includes('0001-start'))
    const running = await startService(t, home)
    const beside = await berth(['migrate'], home.env)
    assert.deepEqual([beside.code, beside.out], [0, 'the store has the schema of this version\n'], beside.err)
    assert.equal(await running.kill('SIGTERM'), 0)
  },
)

processOnBothEngines('a .env file goes in and comes out with every value as it was', async (t, engine) => {
  const home = await newHome(t, engine)
  const running = await startService(t, home)
  const { token } = credentialsOf(home)
  const env = { ...home.env, PORT: new URL(running.address).port }
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  await fetch(`${running.address}/v10/projects`, { method: 'POST', headers, body: '{"name":"web"}' })
  const many = Array.from({ length: 230 }, (_, at) => `KEY_${at}=value-${at}`)
  const odd = [
    'export EXPORTED=yes',
    "SINGLE='# no comment'",
    'LINES="one\\ntwo"',
    'BLOCK=`-----BEGIN-----',
    'abc',
    '-----END-----`',
    'EMPTY=',
  ]
  const file = join(home.folder, 'web.env')
  writeFileSync(file, ['# settings', ...odd, ...many, ''].join('\n'))
  const target = ['--target', 'preview']
  const dry = await berth(['env', 'import', 'web', file, ...target, '--dry-run', '--json'], env)
  assert.equal(JSON.parse(dry.out).added, 235)
  const first = await berth(['env', 'import', 'web', file, ...target, '--json'], env)
  assert.deepEqual(JSON.parse(first.out), { added: 235, updated: 0, unchanged: 0, failed: [] }, first.err)
  const again = await berth(['env', 'import', 'web', '-', ...target], env, 'KEY_7=other\nKEY_8=value-8\n')
  assert.equal(again.out, 'added 0, updated 1, unchanged 1, failed 0\n')
  assert.equal(`${first.out}${first.err}${again.out}${again.err}`.includes('value-'), false, 'no value is printed')

  const exported = JSON.parse((await berth(['env', 'export', 'web', ...target, '--json'], env)).out).variables
  const wanted = {
    EXPORTED: 'yes',
    SINGLE: '# no comment',
    LINES: 'one\ntwo',
    BLOCK: '-----BEGIN-----\nabc\n-----END-----',
    EMPTY: '',
  }
  for (const [key, value] of Object.entries(wanted)) assert.equal(exported[key], value)
  assert.deepEqual([exported.KEY_7, exported.KEY_229], ['other', 'value-229'])
  const out = join(home.folder, 'out.env')
  assert.match((await berth(['env', 'export', 'web', ...target, '--out', out], env)).out, /235 variables/)
  const back = await berth(['env', 'import', 'web', out, ...target, '--json'], env)
  assert.equal(JSON.parse(back.out).unchanged, 235, back.err)

  const some = '# first\n\nGOOD=1\nLINES="a\nb"\nbad-key=2\nALSO_GOOD=3\nVERCEL_URL=4\n'
  const partly = await berth(['env', 'import', 'web', '-', ...target], env, some)
  assert.deepEqual([partly.code, partly.out], [1, ''])
  const told = partly.err.split('\n')
  assert.match(told[0]!, /^berth: -:6 is refused: /)
  assert.equal(told.at(-2), 'nothing was changed')
  const after = JSON.parse((await berth(['env', 'export', 'web', ...target, '--json'], env)).out).variables
  assert.deepEqual([after.GOOD, after.ALSO_GOOD], [undefined, undefined])
  const branch = await berth(['env', 'export', 'web', '--target', 'production', '--git-branch', 'main'], env)
  assert.deepEqual([branch.code, /--git-branch is for --target preview/.test(branch.err)], [64, true], branch.err)
  const unread = await berth(['env', 'import', 'web', '-', ...target], env, 'A=1\nno line at all\n')
  assert.deepEqual([unread.code, unread.out], [1, ''])
  assert.match(unread.err, /-:2 is not KEY=value/)
  const empty = await berth(['env', 'import', 'web', '-', ...target], env, '# nothing\n')
  assert.deepEqual([empty.code, empty.err], [0, 'berth: stdin holds no variable\n'])

  const staging = ['--target', 'staging']
  const early = await berth(['env', 'export', 'web', ...staging], env)
  assert.deepEqual([early.code, /There is no environment "staging"/.test(early.err)], [1, true], early.err)
  const environments = `${running.address}/v9/projects/web/custom-environments`
  assert.ok((await fetch(environments, { method: 'POST', headers, body: '{"slug":"staging"}' })).ok)
  const staged = await berth(['env', 'import', 'web', '-', ...staging], env, 'STAGED=1\n')
  assert.equal(staged.out, 'added 1, updated 0, unchanged 0, failed 0\n', staged.err)
  assert.match((await berth(['env', 'export', 'web', ...staging], env)).out, /^STAGED="?1"?$/m)
  const stranger = await berth(['env', 'export', 'web', ...target], { ...env, BERTH_TOKEN: 'berth_nobody' })
  assert.deepEqual([stranger.code, stranger.out], [1, ''])
  const nowhere = await berth(['env', 'import', 'none', '-', ...target], env, 'A=1\n')
  assert.match(nowhere.err, /^berth: .*not/i)
})

/** A line of a command with `place` as one of its places, and the least of what else it needs. */
function lineWith(command: (typeof COMMANDS)[number], named: string, place: string): string[] {
  const { name: words, arguments: takes = [], options = {} } = command
  const typed = takes.filter(({ name, optional }) => name === named || !optional)
  const given = Object.entries(options).filter(([name, { required }]) => name === named || required)
  return [
    ...words.split(' '),
    ...typed.map(({ name, oneOf }) => (name === named ? place : (oneOf?.[0] ?? 'x'))),
    ...given.flatMap(([name, { oneOf, suggestions }]) => [
      `--${name}`,
      name === named ? place : (oneOf?.[0] ?? suggestions?.[0] ?? 'x'),
    ]),
  ]
}

const PLACES = COMMANDS.flatMap((command) =>
  [
    ...(command.arguments ?? []).map((one) => ({ ...one, called: one.name })),
    ...Object.entries(command.options ?? {}).map(([called, one]) => ({ ...one, called })),
  ]
    .filter(({ isFile }) => isFile)
    .map(({ called, inBucket }) => ({ command, called, inBucket })),
)

test('no command takes an address for the path of a file, and each place in a bucket is read alike', () => {
  assert.ok(PLACES.length > 10)
  for (const { command, called, inBucket } of PLACES) {
    const parse = (place: string) => {
      const words = lineWith(command, called, place)
      return parseArguments(command, words.slice(command.name.split(' ').length))
    }
    for (const wrong of ['s3:', 's3:/bucket/x', 's3://bk/x', 'S3://bucket/x', 'gs://bucket/x', 'https://example.com/x'])
      assert.throws(() => parse(wrong), BadUsage, `${command.name}: ${called} ${wrong}`)
    assert.equal(parse('folder/x').value(called), 'folder/x')
    const object = () => parse('s3://bucket/x.db')
    if (inBucket === undefined) assert.throws(object, /takes a file of this machine/)
    else assert.equal(object().value(called), 's3://bucket/x.db')
    if (inBucket === 'object') assert.throws(() => parse('s3://bucket/x/'), /no object of the bucket/)
    if (inBucket !== undefined) assert.throws(() => parse('s3://bk/x'), /3 to 63 lower-case letters/)
  }
})

test('a command whose help says s3:// takes it', () => {
  for (const { name: words, arguments: takes = [], options = {} } of COMMANDS)
    for (const one of [...takes, ...Object.values(options)])
      if (`${one.description} ${'value' in one ? one.value : ''}`.includes('s3://'))
        assert.ok(one.inBucket !== undefined && one.isFile, words)
})
