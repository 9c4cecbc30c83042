/**
 * The commands in README and docs run here, in order, from a fresh clone in an empty directory, and leave the clone clean.
 * A fenced block of `sh` either runs, or says behind `sh` why not: "```sh not run: it takes root". docs/testing.md.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { root } from '../support/root.ts'
import { startDnsServer } from '../support/servers/dns-server.ts'
import { freePort } from '../support/servers/free-port.ts'

const PAGES = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
type Block = { at: string; kind: string; lines: string }

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^```([^\n]*)\n(.*?)^```$/gms)].map(([, kind, lines], at) => ({
    at: `block ${at + 1} of ${page}`,
    kind: kind!,
    lines: lines!,
  }))
}

test('each block of sh runs, or gives the reason why not', () => {
  const fences = PAGES.flatMap(blocksOf).filter(({ kind }) => /^(sh|bash|shell|console)\b/.test(kind))
  assert.ok(fences.length > 15)
  for (const { kind, at } of fences) assert.match(kind, /^sh( not run( here)?: .{8,})?$/, at)
})

/** What was committed plus what was not yet, as a repository that can be cloned. */
function repository(folder: string): string {
  const made = join(folder, 'repository')
  mkdirSync(made)
  const names = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' })
  const there = names.split('\0').filter((name) => name !== '' && existsSync(join(root, name)))
  execFileSync('cp', ['--parents', '-p', '-t', made, '--', ...there], { cwd: root })
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...words], { cwd: made, stdio: 'ignore' })
  git('init', '-q')
  git('add', '-A')
  git('commit', '-qm', 'all')
  return made
}

/** A terminal: a shell in a folder that ends at the first line that fails. `curl` fails where the service refuses. */
function terminal(folder: string, env: Record<string, string>, port: number) {
  return (lines: string, before = '') => {
    const shell = spawn('sh', ['-e'], {
      cwd: folder,
      env: { PATH: process.env.PATH!, ...env },
      detached: true,
    })
    let printed = ''
    for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (data) => (printed += data))
    const text = lines.replaceAll(/(127\.0\.0\.1|localhost):3000/g, `127.0.0.1:${port}`)
    shell.stdin.end(`curl() { command curl -sS --fail-with-body "$@"; }\n${before}\n${text}`)
    const ended = new Promise<{ code: number | null }>((resolve) => shell.once('close', (code) => resolve({ code })))
    return { shell, ended, printed: () => printed }
  }
}

async function listening(run: ReturnType<ReturnType<typeof terminal>>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 50)))
    if (/^berth listening on /m.test(run.printed())) return
  assert.fail(run.printed())
}

function mustBeClean(clone: string, after: string): void {
  const changed = execFileSync('git', ['status', '--porcelain'], { cwd: clone, encoding: 'utf8' })
  assert.equal(changed, '', `git status after ${after}`)
}

async function typeBlocks(
  page: string,
  type: ReturnType<typeof terminal>,
  clone: string,
  before = '',
): Promise<number> {
  let known = before
  let count = 0
  for (const { at, kind, lines } of blocksOf(page)) {
    if (kind !== 'sh' || lines.includes('git clone')) continue
    // One terminal a page: what was set in a block is there in the next.
    const run = type(lines, known)
    const { code } = await run.ended
    assert.equal(code, 0, `${at}:\n${lines}\n${run.printed()}`)
    known +=
      lines
        .match(/^[A-Z_]+=\$\(sed .*$/gm)
        ?.map((line) => `${line}\n`)
        .join('') ?? ''
    mustBeClean(clone, at)
    count++
  }
  return count
}

test('the commands in the pages work in order, from a fresh clone in an empty directory', {
  timeout: 300_000,
}, async (t: TestContext) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-blocks-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const dns = await startDnsServer()
  t.after(() => dns.close())
  // Ours, so that the `3000` of the pages is free.
  const port = await freePort()
  const env = {
    HOME: folder,
    PORT: String(port),
    BERTH_EDGE_PORT: '0',
    BERTH_SITES_PORT: 'off',
    BERTH_DNS_SERVERS: dns.address,
  }
  const clone = join(folder, 'berth')

  // The first terminal. What npm would fetch is ours: the installation from nothing is test/project/dependencies.test.ts.
  const [first] = blocksOf('README.md').filter(({ lines }) => lines.includes('git clone'))
  const lines = first!.lines
    .replace('<this repository>', repository(folder))
    .replace('cd berth\n', `cd berth\nln -s '${join(root, 'node_modules')}' node_modules\n`)
  const service = terminal(folder, env, port)(lines)
  const stop = () => {
    try {
      process.kill(-service.shell.pid!, 'SIGTERM')
    } catch {}
  }
  t.after(stop)
  await listening(service)
  mustBeClean(clone, 'npm start')

  const inClone = terminal(clone, env, port)
  assert.equal(await typeBlocks('README.md', inClone, clone), 2)

  const [snippet] = blocksOf('README.md').filter(({ kind }) => kind === 'js')
  const beside = join(folder, 'try')
  mkdirSync(join(beside, 'node_modules', '@vercel'), { recursive: true })
  symlinkSync(join(root, 'node_modules', 'sdk-1.28.35'), join(beside, 'node_modules', '@vercel', 'sdk'))
  writeFileSync(join(beside, 'try.mjs'), snippet!.lines.replaceAll('127.0.0.1:3000', `127.0.0.1:${port}`))
  assert.match(execFileSync(process.execPath, ['try.mjs'], { cwd: beside, encoding: 'utf8' }), /^prj_\w+ \d+\.x$/m)

  // What the pages take as given: who asks, and a project of each name they use.
  const { token, operatorToken, userId, teamId } = JSON.parse(
    readFileSync(join(clone, 'data', 'credentials.json'), 'utf8'),
  )
  const address = `http://127.0.0.1:${port}`
  const make = async (path: string, as: string, body: object) => {
    const headers = { authorization: `Bearer ${as}`, 'content-type': 'application/json' }
    const answer = await fetch(`${address}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    assert.ok(answer.ok, path)
    return (await answer.json()) as { id: string }
  }
  const [web] = [
    await make('/v10/projects', token, { name: 'web' }),
    await make('/v10/projects', token, { name: 'hello' }),
  ]
  const given = {
    BERTH: address,
    TOKEN: token,
    OPERATOR: operatorToken,
    OPERATOR_TOKEN: operatorToken,
    ACCOUNT_ID: userId,
  }
  const more = { TEAM: teamId, OTHER_TEAM: teamId, THEIR_TOKEN: token, PROJECT_ID: web!.id }
  const set = Object.entries({ ...given, ...more })
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')
  let count = 0
  for (const page of PAGES.slice(1)) count += await typeBlocks(page, inClone, clone, `${set}\n`)
  t.diagnostic(`${count} blocks of docs`)
  assert.ok(count >= 8)

  stop()
  await service.ended
  mustBeClean(clone, 'the end')
})
