/** What another machine says reaches a terminal without control characters, by every command. src/cli/command-line/print.ts. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { operatorCommands } from '../../../src/cli/command/operator-commands.ts'
import { runCommand } from '../../../src/cli/command/run.ts'
import { jsonText, oneLine, print } from '../../../src/cli/command-line/print.ts'
import { berth } from '../../support/clients/command.ts'
import { newHome } from '../../support/process.ts'

/** A screen that is cleared, an own line, DEL, a control sequence of one byte, and a text that turns around. */
const EVIL = 'boom\u001b[2J\r\n\u007f\u009b1m\u202eend'
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/

const ROW = { id: 'id_1', name: EVIL, slug: EVIL, username: EVIL, labels: [EVIL], more: { text: EVIL } }
const ITEM = { kind: EVIL, what: EVIL, where: EVIL, since: null, advice: EVIL }
/** Whatever is asked for is in it. */
const ANSWER = {
  ...ROW,
  verified: true,
  ...Object.fromEntries(['users', 'teams', 'tokens', 'integrations', 'keys', 'members'].map((list) => [list, [ROW]])),
  sections: [{ title: EVIL, count: 1, partial: false, items: [ITEM] }],
  pagination: { next: null },
}

/** The settings of a command whose service says this to everything. */
async function hostile(t: TestContext, status: number, answer: unknown): Promise<Record<string, string>> {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }).listen(0, '127.0.0.1')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    BERTH_PUBLIC_URL: `http://127.0.0.1:${port}`,
    BERTH_DATA: (await newHome(t, 'sqlite')).folder,
    BERTH_OPERATOR_TOKEN: 'operator-token-of-a-test-0123456789',
    BERTH_TOKEN: 'secret',
  }
}

/** As a user types them. A token to revoke is read from stdin, which does not affect the output. */
const LINES = operatorCommands
  .filter(({ name: words }) => words !== 'token revoke')
  .map(({ example }) => example.match(/"[^"]*"|\S+/g)!.map((word) => word.replaceAll('"', '')))
  .map(([, ...words]) => words.filter((word) => word !== '--json'))

test('no command prints a control character of what a service answers or refuses, and JSON carries it escaped', async (t) => {
  const answering = await hostile(t, 200, ANSWER)
  const refusing = await hostile(t, 403, { error: { code: 'forbidden', message: EVIL } })
  assert.ok(LINES.length > 20)
  for (const words of LINES) {
    const told = await berth(words, answering)
    assert.doesNotMatch(told.out + told.err, CONTROLS, words.join(' '))
    assert.match(told.out, /boom\?\[2J\?\?\?\?1m\?end/, words.join(' '))
    const json = await berth([...words, '--json'], answering)
    assert.doesNotMatch(json.out, CONTROLS, words.join(' '))
    assert.ok(JSON.stringify(JSON.parse(json.out)).includes(JSON.stringify(EVIL).slice(1, -1)), words.join(' '))

    const refused = await berth([...words, '--json'], refusing)
    assert.equal(refused.code, 1, words.join(' '))
    assert.doesNotMatch(refused.out + refused.err, CONTROLS, words.join(' '))
    assert.match(refused.err, /^berth: boom\?\[2J\?\?\?\?1m\?end\n$/, words.join(' '))
  }
})

test('import, export, env, audit, doctor, ready and welcome print no control character of an answer', async (t) => {
  for (const [status, answer] of [
    [403, { error: { message: EVIL } }],
    [200, { ...ANSWER, projects: [ROW] }],
    [200, { env: { [EVIL]: EVIL }, omitted: [EVIL] }],
  ] as const) {
    const env = await hostile(t, status, answer)
    const { folder } = await newHome(t, 'sqlite')
    for (const words of [
      ['import', '--from', env.BERTH_PUBLIC_URL!, '--token', 't', '--dry-run'],
      ['export', join(folder, 'out')],
      ['env', 'export', 'web', '--target', 'preview', '--out', join(folder, '.env')],
      ['audit', 'export', join(folder, 'audit.jsonl')],
      ['doctor'],
      ['ready'],
      ['welcome'],
    ]) {
      const { out, err } = await berth(words, env)
      assert.doesNotMatch(out + err, CONTROLS, words.join(' '))
    }
  }
})

test('a .env file on stdout is exact, but on a terminal', async (t) => {
  const env = await hostile(t, 200, { env: { A: 'x\u009by' }, omitted: [] })
  const words = ['env', 'export', 'web', '--target', 'preview']
  assert.match((await berth(words, env)).out, /x\u009by/)
  const [stdout, stderr] = [Object.assign(new PassThrough(), { isTTY: true }), new PassThrough()]
  assert.equal(await runCommand(words, env, { stdout, stderr }), 0)
  assert.match(String(stdout.read()), /x\?y/)
})

test('printed text keeps its lines, its columns and every other character', () => {
  const kept = 'a\tb\n\u00a0é – 漢 👩‍👩‍👧 \u05d0\u200f'
  const out = new PassThrough()
  print(out, `${kept}\u0000\u0008\u000b\u001f\u007f\u0080\u009f\u2028\u202a\u202e\u2066\u2069`)
  assert.equal(String(out.read()), `${kept}${'?'.repeat(12)}`)
  assert.equal(oneLine('a\tb\nc\u001b'), 'a?b?c?')
  assert.equal(jsonText({ 'a\u009b': '\u202e\u001b\n' }), '{\n  "a\\u009b": "\\u202e\\u001b\\n"\n}')
})
