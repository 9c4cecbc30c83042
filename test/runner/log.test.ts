/** The log of a build, cut anywhere, arrives whole, in order and masked. docs/runner.md: Log. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { createMasks } from '../../src/platform/secrets/masks.ts'
import { createLogBuffer, LOG_LIMITS } from '../../src/runner/log/log-buffer.ts'

const NO_MASKS = createMasks([])

/** All lines, by batches that are acknowledged one at a time. */
function drain(buffer: ReturnType<typeof createLogBuffer>): string[] {
  const lines: string[] = []
  for (let batch = buffer.batch(); batch !== undefined; batch = buffer.batch()) {
    assert.equal(batch.first, lines.length)
    assert.ok(batch.lines.length <= LOG_LIMITS.batchLines)
    lines.push(...batch.lines.map(({ text }) => text))
    buffer.acknowledge(lines.length)
  }
  assert.equal(buffer.waitingBytes(), 0)
  return lines
}

function written(pieces: readonly Buffer[], masks = NO_MASKS): string[] {
  const buffer = createLogBuffer(masks)
  for (const piece of pieces) buffer.write(piece)
  buffer.end()
  return drain(buffer)
}

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((one, other) => one - other)
  return [...ends, bytes.length].map((end, at) => bytes.subarray(at === 0 ? 0 : ends[at - 1], end))
}

test('output that is cut anywhere is the same lines, with every value masked', () => {
  const secret = 'pa55-wörd/+x'
  const masks = createMasks([secret])
  const forms = [secret, encodeURIComponent(secret), Buffer.from(`user:${secret}`).toString('base64')]
  const word = fc.oneof(
    fc.constantFrom('plain', 'ö😀', '\x1b[31mred\x1b[0m', '\x1b]0;title\x07', 'a\tb', ...forms),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.array(fc.array(word)), fc.array(fc.nat()), (rows, cuts) => {
      const bytes = Buffer.from(rows.map((words) => words.join(' ')).join('\n'))
      const whole = written([bytes], masks)
      assert.deepEqual(written(cutAt(bytes, cuts), masks), whole)
      for (const line of whole) {
        assert.ok(!line.includes(secret) && !line.includes(encodeURIComponent(secret)), line)
        assert.doesNotMatch(line, /[\0-\x08\x0a-\x1a\x1c-\x1f\x7f-\x9f]/)
      }
    }),
  )
})

test('a value within base64 of other text is masked at each offset', () => {
  const masks = createMasks(['correct-horse-battery'])
  for (const before of ['', 'a', 'ab', 'abc']) {
    const text = Buffer.from(`${before}correct-horse-battery-staple`).toString('base64')
    assert.match(masks.mask(text), /\*\*\*/, before)
  }
  assert.equal(createMasks(['short']).mask('a short one'), 'a short one')
})

test('a value of any length is masked, whatever the others are', () => {
  const random = (length: number) => randomBytes(length).toString('base64').slice(0, length)
  const values = [random(60_000), `${'a'.repeat(3000)}b`, ...Array.from({ length: 1000 }, () => random(40))]
  const masks = createMasks(values)
  for (const value of values) assert.equal(masks.mask(`a ${value} b`), 'a *** b')
  const log = createLogBuffer(masks)
  for (const value of values) log.write(Buffer.from(`${value}\n`))
  assert.deepEqual([...new Set(log.lastLines())], ['***'])
})

test('what belongs to several values is masked as a whole, and what belongs to none is not', () => {
  const words = fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 6, maxLength: 9 }), { minLength: 1 })
  const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 60 })
  fc.assert(
    fc.property(words, text, (values, text) => {
      const isOf = new Set<number>()
      for (const value of values)
        for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1))
          for (let next = at; next < at + value.length; next++) isOf.add(next)
      const expected = [...text].map((character, at) => (isOf.has(at) ? '*' : character)).join('')
      assert.equal(createMasks(values).mask(text), expected.replaceAll(/\*+/g, '***'))
    }),
  )
})

test('a line that is too long is split, and no value is cut in two', () => {
  const secret = 's3cr3t-value'
  const text = `${'x'.repeat(LOG_LIMITS.line - 5)}${secret}${'y'.repeat(100)}`
  const lines = written(
    [...Buffer.from(text)].map((byte) => Buffer.from([byte])),
    createMasks([secret]),
  )
  assert.ok(lines.length === 2 && lines.every(({ length }) => length <= LOG_LIMITS.line))
  assert.equal(lines.join(''), `${'x'.repeat(LOG_LIMITS.line - 5)}***${'y'.repeat(100)}`)
})

test('a terminal sequence is removed, a color is kept, and a line that was written over shows its last text', () => {
  const text = 'a\x1b[2Kb\x1b[1;32mgreen\x1b[0m\n10%\r50%\rdone\r\n\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\x9b\x00\n'
  assert.deepEqual(written([Buffer.from(text)]), ['ab\x1b[1;32mgreen\x1b[0m', 'done', 'link'])
})

test('overwritten text costs its length once, and empty lines have a limit', () => {
  const log = createLogBuffer(createMasks([]))
  log.write(Buffer.from(`${'\r'.repeat(200_000)}x${'\r'.repeat(200_000)}\n`))
  assert.deepEqual(log.lastLines(), ['x'])
  log.write(Buffer.from('\n'.repeat(LOG_LIMITS.bytes / LOG_LIMITS.perLine + 10)))
  assert.ok(log.waitingBytes() < 100 * 1024 * 1024)
  const full = log.waitingBytes()
  log.write(Buffer.from('more\n'))
  assert.equal(log.waitingBytes(), full, 'the log is full')
})

test('a log above 16 MiB ends with a line that says so, and the runner can still say why the build failed', () => {
  const buffer = createLogBuffer(NO_MASKS)
  const piece = Buffer.from(`${'z'.repeat(1023)}\n`.repeat(1024))
  for (let mib = 0; mib < 20; mib++) buffer.write(piece)
  buffer.line('fatal', 'The build was too slow.')
  const lines = drain(buffer)
  assert.match(lines.at(-2)!, /larger than 16 MiB/)
  assert.equal(lines.at(-1), 'The build was too slow.')
  assert.ok(lines.reduce((sum, { length }) => sum + length, 0) <= LOG_LIMITS.bytes + 200)
})

test('the last lines are those of the end, masked, also of a log that is full', () => {
  const secret = 's3cr3t-value'
  const buffer = createLogBuffer(createMasks([secret]))
  for (let mib = 0; mib < 17; mib++) buffer.write(Buffer.from(`${'z'.repeat(1023)}\n`.repeat(1024)))
  for (let kib = 0; kib < 300; kib++) buffer.write(Buffer.from(`${secret.repeat(90)}\n${kib}\n`))
  buffer.write(Buffer.from(`10%\rError: \x1b[2Kno module ${secret.slice(0, 5)}`))
  buffer.write(Buffer.from(`${secret.slice(5)}\nit ended`))
  buffer.end()
  const lines = buffer.lastLines()
  assert.deepEqual(lines.slice(-3), ['299', 'Error: no module ***', 'it ended'])
  assert.ok(lines.length <= 50 && !lines.join().includes('s3cr3t'))
  buffer.write(Buffer.from(`\n${secret}`.repeat(20_000)))
  buffer.write(Buffer.from(secret.repeat(20_000)))
  assert.deepEqual(buffer.lastLines(), [], 'no line begins in what is kept')
})

test('lines that are not acknowledged are sent again, from the same serial number', () => {
  const buffer = createLogBuffer(NO_MASKS, () => 5)
  buffer.write(Buffer.from('a\nb\nc\n'))
  assert.deepEqual(buffer.batch(), buffer.batch())
  buffer.acknowledge(2)
  assert.deepEqual(buffer.batch(), { first: 2, lines: [{ type: 'stdout', date: 5, text: 'c' }] })
  buffer.acknowledge(1)
  buffer.acknowledge(99)
  assert.equal(buffer.batch(), undefined)
})
