/** What users do works inside: a clone from a server of the test's own, and a picture of a page. docs/sandbox.md. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { inflateSync } from 'node:zlib'
import { canRun, skipReason } from '../support/programs.ts'
import { labSkipReason, openLab } from './lab.ts'
import { runInSandbox, sandboxSkipReason } from './sandbox-world.ts'

const GIT = labSkipReason() || (canRun('git', '--version') ? false : skipReason('git', 'git', 'clones in sandboxes'))
function openDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'berth-work-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

test('git clones from a server of the network', { skip: GIT, timeout: 300_000 }, async (t) => {
  const lab = await openLab(t)
  const directory = openDirectory(t)
  const repository = join(directory, 'site')
  mkdirSync(repository)
  writeFileSync(join(repository, 'index.html'), 'from the repository')
  const commit = 'git init -q && git add . && git -c user.name=t -c user.email=t@example.com commit -qm one'
  assert.equal(spawnSync('sh', ['-c', commit], { cwd: repository, stdio: 'inherit' }).status, 0)
  const [program, ...words] = lab.internetWords(
    ...['git', '-c', 'safe.directory=*', 'daemon', '--export-all', '--reuseaddr', `--base-path=${directory}`],
  )
  const daemon = spawn(program!, words, { stdio: 'ignore' })
  t.after(() => daemon.kill('SIGKILL'))
  const script = `for try in 1 2 3 4 5 6 7 8 9; do git clone -q git://192.88.7.7/site && break; sleep 1; done; cat site/index.html`
  const { output, code } = await lab.inSandbox(script)
  assert.equal(code, 0, output)
  assert.match(output, /from the repository$/)
})

/** Debian's /usr/bin/chromium is a script that reads /etc/chromium.d, which is not inside. */
const CHROMIUM = '/usr/lib/chromium/chromium'
const PICTURE =
  sandboxSkipReason() ||
  (canRun(CHROMIUM, '--version') ? false : skipReason(CHROMIUM, 'chromium', 'pictures of pages in sandboxes'))

/** Prints a picture of a page that a server inside serves, in base64. */
const picture = (...flags: readonly string[]) => `python3 -m http.server 8080 --bind 127.0.0.1 >/dev/null 2>&1 &
printf '<body style="margin: 0; background: #3366cc">' > index.html
until python3 -c "import socket; socket.create_connection(('127.0.0.1', 8080))" 2>/dev/null; do sleep 0.1; done
${CHROMIUM} --headless --user-data-dir=/tmp/chromium --window-size=1280,800 --screenshot=/work/page.png ${flags.join(' ')} http://127.0.0.1:8080/ || exit
base64 -w 0 page.png`

test('chromium makes a picture of a page, and its own sandbox does not start', {
  skip: PICTURE,
  timeout: 300_000,
}, async () => {
  const env = { PATH: '/usr/bin', HOME: '/tmp' }
  const { output, code } = await runInSandbox(picture('--no-sandbox'), { env })
  assert.equal(code, 0, output)
  const png = Buffer.from(output.trimEnd().split('\n').at(-1)!, 'base64')
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20), firstPixelOf(png)], [1280, 800, '3366cc'], output)
  const other = await runInSandbox(picture(), { env })
  assert.match(other.output, /No usable sandbox/, 'so the flag is needed')
})

/** Which no filter of a PNG changes: its neighbors are zero. */
function firstPixelOf(png: Buffer): string {
  const pixels: Buffer[] = []
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      pixels.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  return inflateSync(Buffer.concat(pixels)).toString('hex', 1, 4)
}
