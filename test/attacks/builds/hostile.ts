/** TABLE what the build of a tenant tries against the machine that it runs on, and how it ends. docs/runner.md: Limits of a build. */
import { RUNNER_TOKEN } from '../../delivery/builds/building.ts'
import type { Built, Line } from './scene.ts'

export type Row = {
  /** A script of Node.js that the build runs, with the names of IMPORTS. */
  script: string
  /** What happens once its log has `all have begun`. */
  onBegin?: 'cancel'
  /** Seconds that the build has. */
  seconds?: number
  expected: Pick<Built, 'state' | 'code'> & { message?: RegExp }
  /** Throws where the log is not as it should be. */
  log?(lines: readonly Line[]): void
}

export const IMPORTS = `import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
const page = () => { fs.mkdirSync('public', { recursive: true }); fs.writeFileSync('public/index.html', 'built') }
`

const READY = { state: 'READY', code: undefined }
const CANCELED = { state: 'CANCELED', code: undefined }
const REFUSED = { state: 'ERROR', code: 'BUILD_OUTPUT_REFUSED' }
const FOR_EVER = 'setInterval(() => {}, 1000)\n'

export const HOSTILE: Readonly<Record<string, Row>> = {
  'starts processes until it may not': {
    script: `let started = 0
for (;;) {
  const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' })
  const error = await new Promise((resolve) => child.once('spawn', resolve).once('error', resolve))
  if (error) throw new Error('after ' + started + ': ' + error.code)
  started++
}`,
    expected: { state: 'ERROR', code: 'BUILD_FAILED', message: /after (?:[89]\d\d|10[012]\d): EAGAIN/ },
  },
  'forks for ever': {
    script: `spawn('sh', ['-c', 'f() { f | f & }; f; wait'], { detached: true, stdio: 'ignore' })
await sleep(3000)
console.log('all have begun')
${FOR_EVER}`,
    onBegin: 'cancel',
    expected: CANCELED,
  },
  'leaves processes behind': {
    script: `const stubborn = 'trap "" TERM HUP INT; while :; do sleep 1; done'
spawn('setsid', ['sh', '-c', stubborn], { detached: true, stdio: 'inherit' }).unref()
spawn('setsid', ['sh', '-c', '(' + stubborn + ') & exit'], { detached: true, stdio: 'ignore' }).unref()
page()`,
    expected: READY,
  },
  'kills its parent': {
    script: `process.kill(process.ppid, 'SIGKILL')\n${FOR_EVER}`,
    expected: { state: 'ERROR', code: 'BUILD_OUT_OF_MEMORY' },
  },
  'kills everything that it may': {
    script: `process.kill(-1, 'SIGKILL')\n${FOR_EVER}`,
    expected: { state: 'ERROR', code: 'BUILD_OUT_OF_MEMORY' },
  },
  'stops everything that it may, itself last': {
    script: `console.log('all have begun')
await sleep(1000)
process.kill(-1, 'SIGSTOP')
${FOR_EVER}`,
    onBegin: 'cancel',
    expected: CANCELED,
  },
  'runs for ever': {
    script: FOR_EVER,
    seconds: 30,
    expected: { state: 'ERROR', code: 'BUILD_TIMED_OUT', message: /took longer than 1 minute and was ended/ },
  },
  'fills memory': {
    script: `const kept = []
for (;;) { kept.push(Buffer.alloc(1 << 24, kept.length)); await sleep(5) }`,
    expected: {
      state: 'ERROR',
      code: 'BUILD_OUT_OF_MEMORY',
      message: /more than 1024 MiB of memory.*BERTH_BUILD_MEMORY/,
    },
  },
  'fills the disk': {
    script: `fs.mkdirSync('public')
for (let at = 0; ; at++) { fs.writeFileSync('public/' + at, Buffer.alloc(1 << 24, at)); await sleep(5) }`,
    expected: { state: 'ERROR', code: 'BUILD_OUT_OF_DISK', message: /more than 512 MiB of disk.*BERTH_BUILD_DISK/ },
  },
  'writes files without end': {
    script: `for (let at = 0; ; at++) { fs.mkdirSync('public/' + at, { recursive: true }); if (at % 100 === 0) await sleep(20) }`,
    expected: { state: 'ERROR', code: 'BUILD_OUT_OF_DISK', message: /more than 20000 files.*BERTH_BUILD_FILES/ },
  },
  'writes 1 GiB of log': {
    script: `const line = 'x'.repeat(16_000) + '\\n'
for (let at = 0; at < 1 << 30; at += line.length) if (!process.stdout.write(line)) await once(process.stdout, 'drain')
page()`,
    expected: READY,
    log(lines) {
      const bytes = lines.reduce((sum, { text }) => sum + text.length, 0)
      if (bytes > 17 * 1024 ** 2) throw new Error(`the log has ${bytes} bytes`)
      if (!lines.some(({ text }) => text.startsWith('The log of this build is larger than 16 MiB.')))
        throw new Error('the log does not say where it ends')
    },
  },
  'writes control sequences': {
    script: `process.stdout.write('\\x1b]0;title\\x07\\x1b[2Jafter\\x1b[31m red\\x1b[0m \\x9b6n \\x1bc\\x00end\\n')
page()`,
    expected: READY,
    log(lines) {
      const text = lines.map((line) => line.text).join('\n')
      if (!text.includes('after\x1b[31m red\x1b[0m 6n end')) throw new Error(JSON.stringify(text))
    },
  },
  'writes a link to a file out of its output': {
    script: `fs.mkdirSync('.vercel/output/static', { recursive: true })
fs.writeFileSync('.vercel/output/config.json', '{"version":3}')
fs.symlinkSync('/etc/passwd', '.vercel/output/static/passwd.txt')`,
    expected: { ...REFUSED, message: /static\/passwd\.txt is a link that leads out of the output, to "\/etc\/passwd"/ },
  },
  'writes a link to a directory out of its output': {
    script: `fs.mkdirSync('.vercel/output', { recursive: true })
fs.writeFileSync('.vercel/output/config.json', '{"version":3}')
fs.symlinkSync('../../..', '.vercel/output/static')`,
    expected: { ...REFUSED, message: /output\/static is a link that leads out of the output/ },
  },
  'writes a pipe into its output': {
    script: `fs.mkdirSync('.vercel/output/static', { recursive: true })
fs.writeFileSync('.vercel/output/config.json', '{"version":3}')
spawnSync('mkfifo', ['.vercel/output/static/pipe'])`,
    expected: { ...REFUSED, message: /static\/pipe is neither a file nor a directory nor a link/ },
  },
  'looks for what is not its own': {
    script: `for (const pid of fs.readdirSync('/proc').filter(Number)) for (const name of ['environ', 'cmdline'])
  try { console.log(fs.readFileSync('/proc/' + pid + '/' + name, 'utf8').replaceAll('\\0', ' ')) } catch {}
for (const path of ['/work/..', '/tmp', '/var', '/root', '/etc/shadow', '/host/tmp'])
  try { console.log(path, fs.readdirSync(path).join(' ')) } catch {}
const tool = process.execPath.replace(/bin\\/node$/, 'hostile')
try { fs.writeFileSync(tool, ''); console.log('WRITTEN into a tool') } catch (error) { console.log(error.code) }
for (const [host, port] of [['127.0.0.1', 3000], ['198.51.100.2', 3000], ['10.9.9.9', 80], ['169.254.169.254', 80], ['fd12::7', 80]]) {
  const socket = connect(port, host)
  const ended = new Promise((resolve) => socket.once('connect', () => resolve('REACHED ' + host)).once('error', (error) => resolve(error.code)))
  console.log(await Promise.race([ended, sleep(3000, 'late')]))
  socket.destroy()
}
page()`,
    expected: READY,
    log(lines) {
      const text = lines.map((line) => line.text).join('\n')
      for (const secret of [RUNNER_TOKEN, 'WRITTEN', 'REACHED', 'BERTH_RUNNER'])
        if (text.includes(secret)) throw new Error(`${secret} is in the log`)
      if (!text.includes('EROFS')) throw new Error(text)
    },
  },
}
