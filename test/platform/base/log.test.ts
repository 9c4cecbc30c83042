/** What the log writes of an error, and the lines that it cannot write. src/platform/base/log.ts; docs/operations.md. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { pino } from 'pino'
import { droppedLines, logOptions } from '../../../src/platform/base/log.ts'
import { root } from '../../support/root.ts'

/** Logs three lines once its input has ended, and says on standard error how many were dropped. */
const THREE_LINES = `
const { openLog, droppedLines } = await import(${JSON.stringify(pathToFileURL(join(root, 'src/platform/base/log.ts')).href)})
const log = await openLog('info')
process.stdin.resume().on('end', async () => {
  for (const line of ['one', 'two', 'three']) log.info(line)
  log.debug('four')
  for (let turn = 0; turn < 1000 && droppedLines(log) === 0; turn++) await new Promise((go) => setTimeout(go, 1))
  process.stderr.write(String(droppedLines(log)))
})`

for (const [what, isRead, dropped] of [
  ['is read', true, 0],
  ['nothing reads', false, 3],
] as const)
  test(`of a log that ${what}, ${dropped} of three lines are dropped`, async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', THREE_LINES])
    const [out, said] = [isRead ? text(child.stdout) : '', text(child.stderr)]
    if (!isRead) {
      child.stdout.destroy()
      await once(child.stdout, 'close')
    }
    child.stdin.end()
    const [code] = await once(child, 'exit')
    assert.deepEqual([code, await said], [0, String(dropped)])
    const lines = (await out).split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line).msg))
    assert.deepEqual(lines, isRead ? ['one', 'two', 'three'] : [])
  })

test('a log that is not of the process has dropped nothing', () => {
  assert.equal(droppedLines(pino({ enabled: false })), 0)
})

test('of an error its type, message, code, stack and causes are logged, and nothing else', () => {
  const { err } = logOptions('info').serializers
  const chain = (depth: number): Error =>
    depth === 0 ? new RangeError('last') : new Error(`${depth}`, { cause: chain(depth - 1) })
  const driver = Object.assign(new TypeError('boom'), { code: '23505', detail: 'canary' })
  const { stack } = driver
  assert.deepEqual(err(driver), { type: 'TypeError', message: 'boom', code: '23505', stack })
  const plain = { type: 'string', message: 'a value that is not an error was thrown' }
  assert.deepEqual(err('canary'), plain)
  assert.deepEqual(err(new Error('x', { cause: 'canary' })).because, plain)
  const messages = (error: unknown) => {
    const seen: string[] = []
    for (let at = err(error); at !== undefined; at = at.because!) seen.push(at.message)
    return seen
  }
  assert.deepEqual(messages(chain(1)), ['1', 'last'])
  assert.deepEqual(messages(chain(3)), ['3', '2', '1', 'last'])
  assert.deepEqual(messages(chain(5)), ['5', '4', '3', '2'])
  assert.equal('code' in err(new Error('x')), false)
})
