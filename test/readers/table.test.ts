/** src/readers.ts names every place where something of an unauthenticated client is read, and its limits hold. docs/limits.md: Readers. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { MAX_FILE_BYTES } from '../../src/delivery/uploads/upload.ts'
import { bodyLimitOf } from '../../src/platform/http/route.ts'
import { READERS, type Reader } from '../../src/readers.ts'
import { ROUTES } from '../../src/routes.ts'
import { SCREENS } from '../../src/screens.ts'
import { openClient } from '../support/clients/browser-client.ts'
import { root } from '../support/root.ts'
import { onBothEngines } from '../support/world.ts'

const TABLE: Readonly<Record<string, Reader>> = READERS
const LISTED = new Set(Object.values(TABLE).flatMap(({ files }) => files))

/**
 * TABLE what code has that reads bytes of others -> the files that have it in addition to those of the table, and why.
 * A file that is named without need fails too.
 */
const SIGNS: readonly { sign: RegExp; besides: Readonly<Record<string, string>> }[] = [
  {
    sign: new RegExp(
      [
        String.raw`\brawHeaders\b|(?<!')\b(?:request|raw|newest)\.headers\b|\brequest\.body\b`,
        String.raw`\b(?:request)?headers\.get\(|\bheaders\.cookie\b|\btype: 'header', key: '`,
        // A header that is given to a function, and headers that are taken out of a request.
        String.raw`\bheader: string(?: \||[,)])`,
        String.raw`\{[^{}]*\bheaders\b[^{}]*\}\s*:\s*(?:Pick<)?(?:IncomingMessage|VisitorRequest)`,
        String.raw`\bconst \{[^{}]*\bheaders\b[^{}]*\} = (?:request|raw)\b`,
      ].join('|'),
      'i',
    ),
    besides: {
      'cli/command/service-client.ts': 'a command reads two headers of the service as a whole',
      'launcher/request-context.ts': 'in the process of a function, for that function',
      'launcher/request-properties.ts': 'in the process of a function, for that function',
      'launcher/web.ts': 'in the process of a function, for that function',
      'platform/http/handle-request.ts': 'gives headers and body to readers',
      'platform/http/idempotency.ts': 'one header, whose text is looked at as a whole; the body is only hashed',
      'platform/http/request-metrics.ts': 'gives one header to a reader',
      'platform/pages/browser-session.ts': 'gives headers to readers',
      'platform/server/one-at-a-time.ts': 'whether there is a host, and the length of a body',
      'platform/server/page-handler.ts': 'one header, by a pattern',
      'platform/server/serve.ts': 'gives headers and body to readers',
      'sites/functions/pace/function-pace.ts': 'gives headers on, unread',
      'sites/functions/invoke.ts': 'sends headers on, and looks at the start of one',
      'sites/answers/answer-key.ts': 'headers, compared and hashed as a whole; cookies, searched once',
      'sites/answers/answers.ts': 'sends headers on, without those of a part',
      'sites/pictures/locate.ts': 'sends three headers on, and counts the parts of another one',
      'sites/pictures/pictures.ts': 'one header, split once at commas',
      'sites/pictures/sources.ts': 'sends headers of its own',
      'sites/prerender/page-request.ts':
        'headers of the platform and of a list of the deployment, which are only hashed and sent on',
      'sites/prerender/prerenders.ts': 'two headers, compared as a whole; cookies, split once',
      'sites/prerender/send-page.ts': 'gives headers to the plan of a response',
      'sites/router/resolve.ts': 'a header of rules',
      'sites/router/transforms.ts': 'headers that rules change as a whole, by a budget of characters',
      'sites/static/response-plan.ts': 'five headers, read by patterns that go over each once',
      'sites/visitors/answer-visitor.ts': 'adds one header, unread',
      'sites/visitors/forward.ts': 'sends headers on, and splits two of them at commas',
      'sites/visitors/listener.ts': 'the start of one header, for the log',
      'sites/visitors/send.ts': 'the length of a body',
    },
  },
  {
    sign: /\bdecodeURIComponent\(|\bquerystring\b|\bURLSearchParams\((?:url|text|request|uri)/,
    besides: {
      'launcher/request-properties.ts': 'in the process of a function, for that function',
      'platform/openapi/examples.ts': 'examples of our own',
      'sites/pictures/picture-request.ts': 'a routing worker decodes it, at most 3,072 characters',
      'platform/settings/mail.ts': 'what the operator set',
      'platform/settings/store.ts': 'what the operator set',
      'platform/settings/traces.ts': 'what the operator set',
    },
  },
  {
    sign: /\bfetch\(|\bresolver\.resolve|\brequest\(url/,
    besides: {
      'cli/command/service-client.ts': 'a command reads what a service says of itself, and 64 KiB of it at most',
      'cli/command/serve/serve.ts': 'a command asks the service of its own machine whether it is there',
      'launcher/data-cache.ts': 'in the process of a function, in place of its own fetch',
      'launcher/edge.ts': 'in the process of a function, in place of its own fetch',
      'launcher/web.ts': 'in the process of a function, which reads it',
      'operations/doctor/sites.ts': 'a check asks the sites server of its operator, and reads headers alone',
      'sites/content/content-cache.ts':
        'a function of its caller gives the pieces of a file, which are counted and digested',
      'sites/snapshot/file-source.ts': 'it gives the pieces of a file to that cache, which counts and digests them',
    },
  },
]

/** What Berth does not read. A change that adds it adds a row. */
const ABSENT = /multipart\/|x-forwarded-client-cert|getPeerCertificate|ssl-client|\bjwtVerify\b|\bdecodeJwt\b|busboy/i

const sources = globSync('src/**/*.ts', { cwd: root }).map((path) => ({
  path: path.slice('src/'.length),
  text: readFileSync(join(root, path), 'utf8').replaceAll(/^\s*(?:\/\*\*|\*|\/\/).*$/gm, ''),
}))

test('what an unauthenticated client sends is read in the files of the table alone, and those that pass it on say so', () => {
  for (const { sign, besides } of SIGNS) {
    const found = sources.filter(({ text }) => sign.test(text)).map(({ path }) => path)
    const unnamed = found.filter((path) => !LISTED.has(path) && !(path in besides))
    assert.deepEqual(unnamed, [], `${sign}: add a row to src/readers.ts, with its worst inputs`)
    assert.deepEqual(
      Object.keys(besides).filter((path) => !found.includes(path) || LISTED.has(path)),
      [],
      `${sign}: these need no reason any more`,
    )
  }
  for (const file of LISTED) assert.ok(existsSync(join(root, 'src', file)), `src/${file} of the table is not there`)
})

test('what the table says is not read is not read', () => {
  assert.deepEqual(
    sources.filter(({ text }) => ABSENT.test(text)).map(({ path }) => path),
    [],
  )
})

test('every body that a route or a form takes is one of the table, and before the caller is known it is a small one', () => {
  const sizes = (names: readonly (keyof typeof READERS)[]) => names.map((name) => READERS[name].bytes as number)
  for (const route of ROUTES) {
    const allowed =
      route.auth === 'client'
        ? sizes(['JSON of a client', 'form of a client'])
        : route.textBody
          ? sizes(['env file'])
          : route.fileBody
            ? [MAX_FILE_BYTES]
            : route.listBody
              ? sizes(['JSON body with a list'])
              : sizes(['JSON body', 'JSON body of many'])
    assert.ok(allowed.includes(bodyLimitOf(route)), `${route.operationId} takes ${bodyLimitOf(route)} bytes`)
  }
  for (const { auth, name, bodyLimit = READERS.form.bytes, calls } of SCREENS) {
    if (bodyLimit === READERS.form.bytes) continue
    assert.equal(bodyLimit, READERS['form of a text'].bytes, name)
    assert.ok(auth === 'person' && calls !== undefined, `${name}: who has not signed in sends at most a small form`)
  }
})

test('docs/limits.md has a row for every reader, with its limits', () => {
  const page = readFileSync(join(root, 'docs/limits.md'), 'utf8')
  const size = (bytes: number) => (bytes < 1024 ** 2 ? `${bytes / 1024} KiB` : `${bytes / 1024 ** 2} MiB`)
  const rows = Object.entries(TABLE).map(
    ([name, { bytes, parts, from }]) => `| ${name} | ${from} | ${size(bytes)} | ${parts.toLocaleString('en')} |`,
  )
  for (const row of rows) assert.ok(page.includes(row), `docs/limits.md lacks: ${row}`)
})

onBothEngines(
  'a large form of an unauthenticated client is not read before its sender is known, and one with too many fields is refused',
  async (world) => {
    const stranger = openClient(world)
    const path = '/console/t/x/projects/y/variables'
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }
    const send = (to: string, payload: string) =>
      world.app.inject({ method: 'POST', url: `${path}/${to}`, payload, headers })
    for (const [to, bytes] of [
      ['new', 256 * 1024],
      ['import', 700_000],
      ['import', 3 * 1024 * 1024],
    ] as const) {
      assert.ok([303, 401].includes((await send(to, 'target&'.repeat(bytes / 7))).statusCode))
    }
    const body = 'name=a&'.repeat(READERS.form.parts)
    await stranger.get('/sign-in')
    const answer = await stranger.postEncoded('/sign-in', body)
    assert.equal(answer.status, 400)
    assert.match(answer.text, /the form has more than 2000 fields\. Send fewer at a time/)
  },
)
